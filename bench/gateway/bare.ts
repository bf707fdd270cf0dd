// The ceiling: Fastify handlers that return bytes they already have.
import Fastify from 'fastify';
import { createAnswers } from './answers.ts';

const { params, entity, list } = await createAnswers();
const server = Fastify();
for (const [path, answer] of [
  ['/ixo/token/params', params],
  ['/ixo/entity/:id', entity],
  ['/ixo/entities', list],
] as const) {
  const bytes = answer.print();
  server.get(path, (_request, reply) => reply.header('content-type', 'application/json').send(bytes));
}
const url = await server.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ url });
