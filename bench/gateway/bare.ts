// The ceiling: Fastify handlers that return bytes they already have.
import Fastify from 'fastify';
import { loadProtoFolder } from '../../services/gateway/src/descriptors/parse-proto-files.ts';
import { createSchema } from '../../services/gateway/src/descriptors/schema.ts';
import { createEncoder } from '../../services/gateway/src/encode-response.ts';
import { createAnswers, protoFolder } from './answers.ts';

const answers = await createAnswers();
const { registry } = createSchema(await loadProtoFolder(protoFolder));
const encoder = createEncoder(registry);
const body = (name: string, type: string) => {
  const message = registry.getMessage(`palaver.bench.${type}`);
  const bytes = answers[`/palaver.bench.Query/${name}`];
  if (!message || !bytes) throw new Error(`no answer ${name}`);
  const encoded = encoder.encode(message, bytes);
  return Buffer.from(encoded.ok ? encoded.json : '');
};

const server = Fastify();
for (const [path, bytes] of [
  ['/ixo/token/params', body('Params', 'ParamsAnswer')],
  ['/ixo/entity/:id', body('Entity', 'EntityAnswer')],
  ['/ixo/entities', body('Entities', 'EntitiesAnswer')],
] as const) {
  server.get(path, (_request, reply) => reply.header('content-type', 'application/json').send(bytes));
}
const url = await server.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ url });
