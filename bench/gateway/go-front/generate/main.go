// Writes the Go code of the benchmark's proto with the generators that Cosmos chains use, all of them Go modules: no
// protoc is needed.
package main

import (
	"bytes"
	"context"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	source     = "palaver/bench/query.proto"
	timestamps = "Mgoogle/protobuf/timestamp.proto=github.com/cosmos/gogoproto/types,"
	to         = "Mpalaver/bench/query.proto=query"
)

func main() {
	protos, out := os.Args[1], os.Args[2]
	google := map[string]protoreflect.FileDescriptor{
		"google/api/annotations.proto": annotations.File_google_api_annotations_proto,
		"google/api/http.proto":        annotations.File_google_api_http_proto,
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
		&protocompile.SourceResolver{ImportPaths: []string{protos}},
		protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			if file, ok := google[path]; ok {
				return protocompile.SearchResult{Desc: file}, nil
			}
			return protocompile.SearchResult{}, os.ErrNotExist
		}),
	})}
	files, err := compiler.Compile(context.Background(), source)
	check(err)
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{source}, ProtoFile: list(files[0], map[string]bool{})}
	run("github.com/cosmos/gogoproto/protoc-gen-gocosmos", "plugins=grpc,"+timestamps+to, request, out)
	run("github.com/grpc-ecosystem/grpc-gateway/protoc-gen-grpc-gateway", "logtostderr=true,allow_colon_final_segments=true,"+timestamps+to, request, out)
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

func run(generator, parameter string, request *pluginpb.CodeGeneratorRequest, out string) {
	request.Parameter = &parameter
	input, err := proto.Marshal(request)
	check(err)
	command := exec.Command("go", "run", generator)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.Output()
	check(err)
	var response pluginpb.CodeGeneratorResponse
	check(proto.Unmarshal(output, &response))
	if response.Error != nil {
		log.Fatal(*response.Error)
	}
	for _, file := range response.File {
		check(os.WriteFile(filepath.Join(out, filepath.Base(file.GetName())), []byte(file.GetContent()), 0o644))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
