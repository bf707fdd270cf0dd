// The ceiling: Fastify handlers that return bytes they already have.
import Fastify from 'fastify';
import { loadAnswers } from './answers.ts';

const { print } = await loadAnswers();
const server = Fastify();
for (const [path, bytes] of [
  ['/ixo/token/params', print('params')],
  ['/ixo/entity/:id', print('entity')],
  ['/ixo/entities', print('list')],
] as const) {
  server.get(path, (_request, reply) => reply.header('content-type', 'application/json').send(bytes));
}
const url = await server.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ url });
