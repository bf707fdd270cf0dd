// grpc-gateway 2 before a server that answers each call with its request, for `npm run check:grpc-gateway`. Its handlers are not
// generated: they call the runtime as generated ones do, for whatever the `.proto` files declare.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/visibility"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Arguments: where to write the descriptors, the folder of the `.proto` files, the files.
func main() {
	set := compile(os.Args[2], os.Args[3:])
	bytes, err := proto.Marshal(set)
	check(err)
	check(os.WriteFile(os.Args[1], bytes, 0o600))
	files, err := protodesc.NewFiles(set)
	check(err)
	json := &runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{Resolver: dynamicpb.NewTypes(files)}}
	mux := runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, json))
	for _, file := range set.File {
		descriptor, err := files.FindFileByPath(file.GetName())
		check(err)
		registerEnums(descriptor)
		for i := range descriptor.Services().Len() {
			methods := descriptor.Services().Get(i).Methods()
			for j := range methods.Len() {
				register(mux, json, methods.Get(j))
			}
		}
	}
	node := serveNode()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("%s http://%s\n", node, listener.Addr())
	check(http.Serve(listener, mux))
}

func compile(folder string, names []string) *descriptorpb.FileDescriptorSet {
	known := map[string]protoreflect.FileDescriptor{}
	for _, file := range []protoreflect.FileDescriptor{
		annotations.File_google_api_annotations_proto, annotations.File_google_api_http_proto,
		annotations.File_google_api_field_behavior_proto, visibility.File_google_api_visibility_proto,
		status.File_google_rpc_status_proto,
	} {
		known[file.Path()] = file
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
		protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			if file, ok := known[path]; ok {
				return protocompile.SearchResult{Desc: file}, nil
			}
			return protocompile.SearchResult{}, os.ErrNotExist
		}),
		&protocompile.SourceResolver{ImportPaths: []string{folder}},
	})}
	files, err := compiler.Compile(context.Background(), names...)
	check(err)
	set, seen := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	for _, file := range files {
		set.File = append(set.File, list(file, seen)...)
	}
	// The compiler has the options as messages of its own; read again, they are those of the packages above.
	bytes, err := proto.Marshal(set)
	check(err)
	check(proto.Unmarshal(bytes, set))
	return set
}

// A file after everything it imports.
func list(file protoreflect.FileDescriptor, seen map[string]bool) (files []*descriptorpb.FileDescriptorProto) {
	if seen[file.Path()] {
		return nil
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		files = append(files, list(file.Imports().Get(i).FileDescriptor, seen)...)
	}
	return append(files, protodesc.ToFileDescriptorProto(file))
}

// The runtime looks for enums among those of generated code.
func registerEnums(scope interface {
	Enums() protoreflect.EnumDescriptors
	Messages() protoreflect.MessageDescriptors
}) {
	for i := range scope.Enums().Len() {
		enum := scope.Enums().Get(i)
		if _, err := protoregistry.GlobalTypes.FindEnumByName(enum.FullName()); err != nil {
			check(protoregistry.GlobalTypes.RegisterEnum(dynamicpb.NewEnumType(enum)))
		}
	}
	for i := range scope.Messages().Len() {
		registerEnums(scope.Messages().Get(i))
	}
}

func register(mux *runtime.ServeMux, json runtime.Marshaler, method protoreflect.MethodDescriptor) {
	rule, ok := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil || method.IsStreamingClient() || method.IsStreamingServer() {
		return
	}
	for _, binding := range append([]*annotations.HttpRule{rule}, rule.AdditionalBindings...) {
		if binding.GetGet() == "" {
			continue
		}
		check(mux.HandlePath("GET", binding.GetGet(), func(w http.ResponseWriter, r *http.Request, params map[string]string) {
			answer(mux, json, w, r, method, params, binding.GetResponseBody())
		}))
	}
}

func answer(mux *runtime.ServeMux, json runtime.Marshaler, w http.ResponseWriter, r *http.Request, method protoreflect.MethodDescriptor, params map[string]string, responseBody string) {
	request := dynamicpb.NewMessage(method.Input())
	var bound [][]string
	err := r.ParseForm()
	for path, value := range params {
		bound = append(bound, strings.Split(path, "."))
		if err == nil {
			err = runtime.PopulateFieldFromPath(request, path, value)
		}
	}
	if err == nil {
		err = runtime.PopulateQueryParameters(request, r.Form, utilities.NewDoubleArray(bound))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	bytes, err := proto.Marshal(request)
	response := dynamicpb.NewMessage(method.Output())
	if err == nil {
		err = proto.Unmarshal(bytes, response)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if responseBody != "" {
		field := method.Output().Fields().ByName(protoreflect.Name(responseBody))
		runtime.ForwardResponseMessage(r.Context(), mux, json, w, r, body{response, toGo(response, field)})
		return
	}
	runtime.ForwardResponseMessage(r.Context(), mux, json, w, r, response)
}

// The field of an answer that is its whole body.
type body struct {
	proto.Message
	value any
}

func (b body) XXX_ResponseBody() any { return b.value }

// The value as a field of generated code has it.
func toGo(message *dynamicpb.Message, field protoreflect.FieldDescriptor) any {
	value := message.Get(field)
	if field.IsList() && field.Message() != nil {
		messages := []proto.Message{}
		for i := range value.List().Len() {
			messages = append(messages, value.List().Get(i).Message().Interface())
		}
		return messages
	}
	if field.IsList() {
		texts := []string{}
		for i := range value.List().Len() {
			texts = append(texts, value.List().Get(i).String())
		}
		return texts
	}
	if field.Message() == nil {
		return value.Interface()
	}
	if !message.Has(field) {
		return nil
	}
	return value.Message().Interface()
}

type raw struct{}

func (raw) Name() string                        { return "proto" }
func (raw) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }
func (raw) Unmarshal(data []byte, to any) error {
	*to.(*[]byte) = append([]byte{}, data...)
	return nil
}

func serveNode() net.Addr {
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		return stream.SendMsg(&message)
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() { check(server.Serve(listener)) }()
	return listener.Addr()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
