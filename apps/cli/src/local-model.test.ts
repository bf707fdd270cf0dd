import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { describeLocalModel } from './local-model.ts';

async function describeAgainst(listener: RequestListener, env = {}) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  try {
    return { said: await describeLocalModel(env, address), address };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const list =
  (...ids: string[]): RequestListener =>
  (request, response) =>
    response
      .writeHead(request.url === '/v1/models' ? 200 : 404, { 'content-type': 'application/json' })
      .end(JSON.stringify({ object: 'list', data: ids.map((id) => ({ id, object: 'model' })) }));

test('a server on this machine is offered with its first model', async () => {
  const { said, address } = await describeAgainst(list('llama3.2:3b', 'other'));
  expect(said).toContain(`LLM_BASE_URL=${address} LLM_MODEL=llama3.2:3b`);
});

test('what is not a name is not repeated at a terminal', async () => {
  expect((await describeAgainst(list('\u001b[2Jx; rm -rf'))).said).toContain('LLM_MODEL=<model>');
});

test.each([
  ['LLM_BASE_URL', { LLM_BASE_URL: 'http://x' }],
  ['LLM_PROVIDER', { LLM_PROVIDER: 'openai' }],
])('nothing is offered where %s is set', async (_name, env) => {
  expect((await describeAgainst(list('a'), env)).said).toBeUndefined();
});

test('nothing is offered where something else answers, never answers, or nothing is there', async () => {
  expect((await describeAgainst((_request, response) => response.end('<html>'))).said).toBeUndefined();
  expect((await describeAgainst(() => undefined)).said).toBeUndefined();
  expect(await describeLocalModel({}, `http://127.0.0.1:${await freePort()}/v1`)).toBeUndefined();
});
