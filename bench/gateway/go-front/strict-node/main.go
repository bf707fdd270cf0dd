// A grpc-go server with its default rules for keepalive, for `npm run check:grpc-go`. It answers any method with the request.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

type raw struct{}

func (raw) Name() string                        { return "proto" }
func (raw) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }
func (raw) Unmarshal(data []byte, to any) error {
	*to.(*[]byte) = append([]byte{}, data...)
	return nil
}

// Counts connections: one that was ended for its pings is followed by another.
type counter struct{ connections atomic.Int64 }

func (c *counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (c *counter) HandleRPC(context.Context, stats.RPCStats)                         {}
func (c *counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (c *counter) HandleConn(_ context.Context, event stats.ConnStats) {
	if _, ok := event.(*stats.ConnBegin); ok {
		c.connections.Add(1)
	}
}

func (c *counter) answer(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	switch method {
	case "/x.Query/Connections":
		request = []byte(fmt.Sprint(c.connections.Load()))
	case "/x.Query/Long":
		return status.Error(codes.Unknown, strings.Repeat("x", 200*1024))
	case "/x.Query/Slow":
		time.Sleep(8 * time.Second)
	}
	return stream.SendMsg(&request)
}

func main() {
	age, err := time.ParseDuration(os.Args[1])
	check(err)
	counted := &counter{}
	server := grpc.NewServer(
		grpc.ForceServerCodec(raw{}),
		grpc.StatsHandler(counted),
		grpc.UnknownServiceHandler(counted.answer),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: age}),
	)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr())
	check(server.Serve(listener))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
