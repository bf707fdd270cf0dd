// The peer: what one writes in an afternoon with the usual libraries.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import Fastify from 'fastify';
import { protoFolder } from './answers.ts';

const definition = loadSync('palaver/bench/query.proto', {
  includeDirs: [protoFolder, dirname(createRequire(import.meta.url).resolve('protobufjs/package.json'))],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
});
interface Client {
  [method: string]: (request: object, callback: (error: Error | null, answer: object) => void) => void;
}
const { palaver } = grpc.loadPackageDefinition(definition) as unknown as {
  palaver: { bench: { Query: new (address: string, credentials: grpc.ChannelCredentials) => Client } };
};
const client = new palaver.bench.Query(process.env.UPSTREAM ?? '', grpc.credentials.createInsecure());
const call = (method: string, request: object) =>
  new Promise<object>((resolve, reject) =>
    client[method]?.(request, (error, answer) => (error ? reject(error) : resolve(answer))),
  );

const server = Fastify();
interface Asked {
  Params: { id: string };
  Querystring: Record<string, string>;
}
server.get<Asked>('/ixo/token/params', (request) => call('Params', { height: request.query.height }));
server.get<Asked>('/ixo/entity/:id', (request) => call('Entity', { id: request.params.id }));
server.get<Asked>('/ixo/entities', (request) =>
  call('Entities', { pagination: { offset: request.query['pagination.offset'] } }),
);
const url = await server.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ url });
