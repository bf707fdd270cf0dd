import { fromBinary, fromJson, type JsonObject, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { getService, loadProtocol } from '../src/protocol.ts';

export interface Outcome {
  /** The response as proto3 JSON with the original names and every default, or nothing after an error. */
  json: JsonObject;
  code: status;
  details: string;
  header: Record<string, unknown>;
}

/** Calls a node through the reference implementation of gRPC for Node. */
export async function createNodeClient(address: string) {
  const protocol = await loadProtocol();
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });

  const call = (service: string, name: string, request: JsonValue = {}, metadata: Record<string, string> = {}) => {
    const method = getService(protocol, service).methods.find((candidate) => candidate.name === name);
    if (!method) throw new Error(`${service} has no ${name}`);
    const sent = new Metadata();
    for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
    return new Promise<Outcome>((resolve) => {
      let header: Record<string, unknown> = {};
      const unary = client.makeUnaryRequest(
        `/${service}/${name}`,
        (message: JsonValue) => Buffer.from(toBinary(method.input, fromJson(method.input, message))),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        request,
        sent,
        { deadline: Date.now() + 20_000 },
        (error: ServiceError | null, message) => {
          if (error || !message) {
            return resolve({ json: {}, code: error?.code ?? status.UNKNOWN, details: error?.details ?? '', header });
          }
          const options = { registry: protocol, useProtoFieldName: true, alwaysEmitImplicit: true };
          const json = toJson(method.output, message, options) as JsonObject;
          resolve({ json, code: status.OK, details: '', header });
        },
      );
      unary.on('metadata', (received) => {
        header = received.getMap();
      });
    });
  };

  return { protocol, client, call, [Symbol.dispose]: () => client.close() };
}
