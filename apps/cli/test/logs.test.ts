// Everything a user says and every secret, in one run of all services at level debug: none of it may reach the log.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { createDelegation, createInvocation, createSigner } from '@palaver/ucan';
import { expect, test } from 'vitest';
import { services } from '../src/services.ts';

const launcher = join(import.meta.dirname, '../bin/palaver.js');
const spoken = 'kanarienvogel';
const pin = '407193';
const phoneNumber = '+254712399187';
const programCode = '*384*7#';
const programSecret = randomBytes(16).toString('hex');
const dataKey = randomBytes(32).toString('hex');
const fileKey = randomBytes(32).toString('base64url');

test('an exercise of all services leaves no conversation, name, PIN, number, token or key in the log', async () => {
  await using dir = await createTempDir();
  await using provider = await startQuotingProvider();
  await writePrograms(join(dir.path, 'programs'), provider.url);
  const ports: Record<string, string> = {};
  for (const { portName } of Object.values(services)) ports[portName] = String(await freePort());
  const child = startProcess(process.execPath, [launcher, 'up'], {
    cwd: dir.path,
    env: {
      LOG_LEVEL: 'debug',
      LLM_PROVIDER: 'compatible',
      LLM_BASE_URL: provider.url,
      LLM_MODEL: 'm',
      DATA_ENCRYPTION_KEY: dataKey,
      CREDITS_ENABLED: 'true',
      CREDITS_FREE: '0',
      MATRIX_ALLOWED_HOSTS: provider.host,
      USSD_PROGRAMS: join(dir.path, 'programs'),
      USSD_HTTP_ALLOWED_HOSTS: provider.host,
      USSD_SECRET_PRICES: programSecret,
      ...ports,
    },
  });
  await child.printed('Ctrl-C stops everything.');
  const ussd = `http://127.0.0.1:${ports.USSD_PORT}/api/ussd`;
  const agent = `http://127.0.0.1:${ports.AGENT_PORT}`;
  const screens: string[] = [];
  const dial = (...inputs: string[]) => dialCode('*1234#', ...inputs);
  const dialCode = async (serviceCode: string, ...inputs: string[]): Promise<void> => {
    const fields = { sessionId: `s${screens.length}`, serviceCode, phoneNumber };
    let text = '';
    for (const input of ['', ...inputs]) {
      text = text === '' ? input : `${text}*${input}`;
      const body = JSON.stringify({ ...fields, text });
      const reply = await fetch(ussd, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      screens.push(await reply.text());
    }
  };

  await dial('2', '1', spoken, pin, pin);
  await dial('2', '2', '111222');
  await dial('2', '2', pin);
  await dial('4', `Where is my ${spoken}?`);
  await dial('3', '1', '5', pin);
  expect(screens.join('\n')).toContain(spoken);
  await dialCode(programCode, '1');
  expect(screens.at(-1)).toContain('No price.');
  expect(provider.headers.join('\n')).toContain(programSecret);

  const document = (await (await fetch(`${agent}/.well-known/did.json`)).json()) as { id: string };
  const issuer = await createSigner();
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;
  const made = { issuer, audience: document.id };
  const { serialized: invocation } = await createInvocation({ ...made, capability });
  const { serialized: delegation } = await createDelegation({ ...made, capabilities: [capability] });
  const send = async (method: string, path: string, body?: object) => {
    const headers = {
      authorization: `Bearer ${invocation}`,
      'x-auth-type': 'ucan',
      'content-type': 'application/json',
    };
    const reply = await fetch(agent + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { ...((await reply.json()) as { sessionId?: string }), status: reply.status };
  };
  const { sessionId } = await send('POST', '/sessions', { title: spoken, metadata: { note: spoken } });
  const unpaid = await send('POST', `/messages/${sessionId}`, { message: `I live in ${spoken}` });
  expect(unpaid).toMatchObject({ status: 402, claimIds: [expect.any(String)] });
  const payment = { did: issuer.did(), amount: 1_000, idempotencyKey: 'payment-1' };
  expect(await send('POST', '/credits/top-up', { ...payment, note: spoken })).toMatchObject({ status: 200 });
  await send('POST', `/messages/${sessionId}`, { message: `I live in ${spoken}` });
  await send('POST', `/messages/${sessionId}`, { message: 7, note: spoken });
  const file = { url: 'mxc://home.example/x', key: { k: fileKey, alg: 'A256CTR' }, iv: 'AA', hashes: { sha256: 'AA' } };
  for (const sent of [file, { ...file, iv: 7 }]) {
    const attachments = [{ file: sent, filename: `${spoken}.txt`, mimetype: 'text/plain' }];
    const message = { message: spoken, attachments, homeServer: `http://${provider.host}` };
    expect(await send('POST', `/messages/${sessionId}`, message)).toMatchObject({ status: sent === file ? 422 : 400 });
  }
  await send('POST', '/delegation', { raw: delegation, issuer: spoken });
  await send('POST', '/delegation', { raw: delegation });
  await fetch(`${agent}/sessions`, { headers: { 'x-ucan-delegation': `${delegation}AAAA` } });
  await send('DELETE', '/delegation');
  expect(provider.prompts.join('\n')).toContain(`I live in ${spoken}`);

  await waitFor('the failed turn in the log', () => child.output().includes('a turn failed'));
  child.kill('SIGTERM');
  await child.exited;
  const log = child.output();
  for (const secret of [
    spoken,
    pin,
    phoneNumber,
    phoneNumber.slice(1),
    invocation.slice(100, 130),
    delegation.slice(100, 130),
    programSecret,
    dataKey,
    fileKey,
  ])
    expect(log.split('\n').filter((line) => line.includes(secret))).toEqual([]);
});

/** A look-up with a secret in its header, beside the bundled program. */
async function writePrograms(folder: string, url: string): Promise<void> {
  const program = `
name: prices
codes: ["${programCode}"]
extends: palaver
languages: [en]
start: home
secrets: [PRICES]
states:
  home: { kind: menu, text: home, options: [{ text: price, to: price }] }
  price:
    kind: action
    http: { get: "${url}/price", headers: { x-key: "{secrets.PRICES}" } }
    take: { price: $.price }
    outcomes: { ok: home, missing: none, failed: none }
  none: { kind: page, text: none }
`;
  await mkdir(join(folder, 'prices/locales'), { recursive: true });
  await mkdir(join(folder, 'everything'));
  await writeFile(join(folder, 'everything/program.yaml'), 'name: everything\nextends: palaver\n');
  await writeFile(join(folder, 'prices/program.yaml'), program);
  await writeFile(join(folder, 'prices/locales/en.yaml'), 'home: Prices\nprice: Price\nnone: No price.\n');
}

/** A language model, homeserver and price list that refuses every request and quotes it. */
async function startQuotingProvider() {
  const prompts: string[] = [];
  const headers: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    prompts.push(text);
    headers.push(JSON.stringify(request.headers));
    const error = { message: `cannot answer ${text} ${headers.at(-1)}`, type: 'x', code: 'x' };
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}/v1`,
    prompts,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
