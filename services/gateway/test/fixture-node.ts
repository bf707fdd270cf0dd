// A real gRPC server that answers the fixture's queries with the request it was given, by default.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import * as grpc from '@grpc/grpc-js';

export interface NodeCall {
  method: string;
  request: Buffer;
  metadata: grpc.Metadata;
  /** Resolves when the caller has given up. */
  cancelled: Promise<void>;
}

export type NodeReply =
  | { message: Uint8Array; metadata?: Record<string, string> }
  | { code: grpc.status; message: string; metadata?: grpc.Metadata };

export interface NodeOptions {
  port?: number;
  reflection?: 'v1' | 'v1alpha' | 'none';
  /** Files beside the fixture's that reflection finds by symbol only. */
  hidden?: FileDescriptorProto[];
  /** Services that reflection lists although it has no file of theirs. */
  ghosts?: string[];
  /** Methods of the fixture that this node does not have. */
  without?: string[];
  /** Changes the files reflection gives out. */
  files?: (files: FileDescriptorProto[]) => FileDescriptorProto[];
  reply?: (call: NodeCall) => NodeReply | Promise<NodeReply>;
  credentials?: grpc.ServerCredentials;
}

export interface FixtureNode {
  address: string;
  port: number;
  calls: NodeCall[];
  /** What reflection was asked, by symbol or file name; empty text for the list of services. */
  asked: string[];
  height: number;
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const asIs = { serialize: (bytes: Buffer) => bytes, deserialize: (bytes: Buffer) => bytes };

export async function startFixtureNode(options: NodeOptions = {}): Promise<FixtureNode> {
  const path = fileURLToPath(new URL('fixture.binpb', import.meta.url));
  const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  const files = options.files ? options.files(file) : file;
  const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 });
  const node = { calls: [] as NodeCall[], asked: [] as string[], height: 100 };

  const handle: grpc.handleUnaryCall<Buffer, Buffer> = async (call, callback) => {
    const cancelled = new Promise<void>((resolve) => call.on('cancelled', () => resolve()));
    const method = call.getPath().split('/').at(-1) ?? '';
    const seen: NodeCall = { method, request: call.request, metadata: call.metadata, cancelled };
    node.calls.push(seen);
    const reply: NodeReply = (await options.reply?.(seen)) ?? { message: call.request };
    if ('code' in reply) return callback({ ...reply, details: reply.message, name: 'Error' } as grpc.ServiceError);
    const metadata = new grpc.Metadata();
    const asked = call.metadata.get('x-cosmos-block-height')[0];
    metadata.set('x-cosmos-block-height', String(asked ?? node.height));
    for (const [name, value] of Object.entries(reply.metadata ?? {})) metadata.set(name, value);
    call.sendMetadata(metadata);
    callback(null, Buffer.from(reply.message));
  };
  for (const declared of files.flatMap((each) => each.service.map((service) => ({ service, package: each.package })))) {
    const name = `${declared.package}.${declared.service.name}`;
    const methods = declared.service.method.filter((method) => !options.without?.includes(method.name));
    server.addService(
      Object.fromEntries(methods.map((method) => [method.name, definition(`/${name}/${method.name}`, false)])),
      Object.fromEntries(methods.map((method) => [method.name, handle])),
    );
  }
  const version = options.reflection ?? 'v1';
  if (version !== 'none') {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    server.addService({ info: definition(path, true) }, { info: reflect(files, options, node.asked) });
  }
  const credentials = options.credentials ?? grpc.ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${options.port ?? 0}`, credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const close = () => server.forceShutdown();
  return Object.assign(node, {
    address: `127.0.0.1:${port}`,
    port,
    close,
    async [Symbol.asyncDispose]() {
      close();
    },
  });
}

function definition(path: string, stream: boolean): grpc.MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: stream,
    responseStream: stream,
    requestSerialize: asIs.serialize,
    requestDeserialize: asIs.deserialize,
    responseSerialize: asIs.serialize,
    responseDeserialize: asIs.deserialize,
  };
}

function reflect(files: FileDescriptorProto[], { hidden = [], ghosts = [] }: NodeOptions, asked: string[]) {
  const field = (no: number, value: Uint8Array) =>
    new BinaryWriter().tag(no, WireType.LengthDelimited).bytes(value).finish();
  const declares = (file: FileDescriptorProto, symbol: string) =>
    [...file.service, ...file.messageType].some(({ name }) => `${file.package}.${name}` === symbol);
  return (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
    call.on('data', (request: Buffer) => {
      const reader = new BinaryReader(request);
      const [no] = reader.tag();
      const text = reader.string();
      asked.push(text);
      if (no === 7) {
        const names = files.flatMap((file) => file.service.map((service) => `${file.package}.${service.name}`));
        const services = [...ghosts, ...names].map((name) => field(1, field(1, Buffer.from(name))));
        return call.write(Buffer.from(field(6, Buffer.concat(services))));
      }
      const all = [...files, ...hidden];
      const found = no === 3 ? all.find((file) => file.name === text) : all.find((file) => declares(file, text));
      if (!found) return call.write(Buffer.from(field(7, field(2, Buffer.from('not found')))));
      return call.write(Buffer.from(field(4, field(1, toBinary(FileDescriptorProtoSchema, found)))));
    });
    call.on('end', () => call.end());
  };
}
