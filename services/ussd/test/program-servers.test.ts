// What the action `http` makes of servers and callers that mean no good, and of a process that ends beside it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { startService, type TestService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

async function startServer(answer = '{}', status = 200) {
  const urls: string[] = [];
  const server = createServer((request, response) => {
    urls.push(`${request.method} ${request.url}`);
    response.writeHead(status, status === 101 ? { upgrade: 'other', connection: 'upgrade' } : {}).end(answer);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    urls,
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** A program that asks for a name, sends it, and shows what it took from the answer. */
const programOf = (http: string) =>
  writeProgram({
    'program.yaml': `name: ask
extends: palaver
codes: ["*384*7#"]
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: go, to: name }] }
  name: { kind: prompt, text: go, type: text, save: name, to: ask }
  ask: { kind: action, http: ${http}, take: { said: $.said }, outcomes: { ok: done, missing: none, failed: none } }
  done: { kind: page, text: done }
  none: { kind: page, text: none }
`,
    'locales/en.yaml': "home: Home\ngo: Go\ndone: 'Said {said}.'\nnone: No answer.\n",
  });

const dial = (service: TestService, text: string) => service.say('a', text, { serviceCode: '*384*7#' });

test.each(engines)('on %s a payment whose reply was lost with its process is not sent again', async (engine) => {
  await using server = await startServer('{"said":"paid"}');
  await using dir = await programOf(`{ post: "http://${server.host}/pay", body: { name: name } }`);
  const env = { USSD_PROGRAMS: dir.path, USSD_HTTP_ALLOWED_HOSTS: server.host };
  await using service = await startService(engine, env);
  await dial(service, '1');
  const store = await openStore<UssdTables>(service.databaseUrl);
  const before = await store.db.selectFrom('ussd_session').selectAll().executeTakeFirstOrThrow();
  expect(await dial(service, '1*Ana')).toMatch(/^CON Said paid\./);
  // The process ends after the payment and before the session is written.
  await store.db.updateTable('ussd_session').set(before).execute();
  await store.close();
  await using other = await service.startAnother();
  expect(await dial(other, '1*Ana')).toMatch(/^CON Said paid\./);
  expect(server.urls).toEqual(['POST /pay']);
});

test('an answer that is nested deeper than the stack leaves its values empty', async () => {
  await using server = await startServer(`{"said":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
  await using dir = await programOf(`{ get: "http://${server.host}/{name}" }`);
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    USSD_HTTP_ALLOWED_HOSTS: server.host,
  });
  expect(await dial(service, '1*Ana')).toMatch(/^CON Said \./);
});

test('a server that switches protocols is given up when the time is over', async () => {
  await using server = await startServer('', 101);
  await using dir = await programOf(`{ get: "http://${server.host}/{name}", timeout: 1s }`);
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    USSD_HTTP_ALLOWED_HOSTS: server.host,
  });
  expect(await dial(service, '1*Ana')).toMatch(/^CON No answer\./);
});

test('an answer that was cut within a character can be sent on', async () => {
  await using server = await startServer('{"said":"yes"}');
  await using dir = await programOf(`{ get: "http://${server.host}/{name}" }`);
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    USSD_HTTP_ALLOWED_HOSTS: server.host,
  });
  await dial(service, '1');
  expect(await dial(service, '1*a\ud83d')).toMatch(/^CON Said yes\./);
  expect(server.urls).toEqual(['GET /a%EF%BF%BD']);
});

test.each([
  ['https://{name}/v1', false],
  ['https://api.{name}/v1', false],
  ['https://prices.example{name}', false],
  ['https://prices.example:{name}/v1', false],
  ['https://{name}@prices.example/v1', false],
  ['{name}://prices.example/v1', false],
  ['https://{name}.prices.example/v1', true],
  ['https://prices.example/v1/{name}?of={name}', true],
])('a caller cannot choose the server that is asked: %s', async (address, isAllowed) => {
  await using dir = await programOf(`{ get: "${address}" }`);
  const [fault] = await startService('sqlite', { USSD_PROGRAMS: dir.path }).then(
    async (service) => {
      await service[Symbol.asyncDispose]();
      return [undefined];
    },
    (error: Error) => [error.message],
  );
  if (isAllowed) expect(fault).toBeUndefined();
  else expect(fault).toContain('state ask: the address must name its server');
});
