// The peer: what a Cosmos chain serves its REST interface with (grpc-gateway 1.16 and gogoproto), as a front of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/cosmos/gogoproto/jsonpb"
	gogo "github.com/cosmos/gogoproto/proto"
	"github.com/grpc-ecosystem/grpc-gateway/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	query "palaver/bench/front/query"
)

// Messages by their generated code, as the chain's own codec does.
type codec struct{}

func (codec) Name() string { return "proto" }
func (codec) Marshal(message any) ([]byte, error) {
	return message.(interface{ Marshal() ([]byte, error) }).Marshal()
}
func (codec) Unmarshal(data []byte, message any) error {
	return message.(interface{ Unmarshal([]byte) error }).Unmarshal(data)
}

// JSON as the chain writes it.
type marshaler struct {
	runtime.JSONPb
	json jsonpb.Marshaler
}

func (m *marshaler) Marshal(value any) ([]byte, error) {
	if message, ok := value.(gogo.Message); ok {
		text, err := m.json.MarshalToString(message)
		return []byte(text), err
	}
	return m.JSONPb.Marshal(value)
}

func (m *marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(value any) error {
		bytes, err := m.Marshal(value)
		if err == nil {
			_, err = w.Write(bytes)
		}
		return err
	})
}

func main() {
	connection, err := grpc.NewClient(os.Args[1],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})))
	check(err)
	json := &marshaler{json: jsonpb.Marshaler{OrigName: true, EmitDefaults: true}}
	mux := runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, json))
	check(query.RegisterQueryHandlerClient(context.Background(), mux, query.NewQueryClient(connection)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("http://%s\n", listener.Addr())
	check(http.Serve(listener, mux))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
