// Everything a user says, in one run of all services at the most talkative level: none of it may reach the log.
import { once } from 'node:events';
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

test('an exercise of all services leaves no conversation, name, PIN, number or token in the log', async () => {
  await using dir = await createTempDir();
  await using provider = await startQuotingProvider();
  const ports: Record<string, string> = {};
  for (const { portName } of Object.values(services)) ports[portName] = String(await freePort());
  const child = startProcess(process.execPath, [launcher, 'up'], {
    cwd: dir.path,
    env: { LOG_LEVEL: 'debug', LLM_PROVIDER: 'compatible', LLM_BASE_URL: provider.url, LLM_MODEL: 'm', ...ports },
  });
  await child.printed('Ctrl-C stops everything.');
  const ussd = `http://127.0.0.1:${ports.USSD_PORT}/api/ussd`;
  const agent = `http://127.0.0.1:${ports.AGENT_PORT}`;
  const screens: string[] = [];
  const dial = async (...inputs: string[]): Promise<void> => {
    const fields = { sessionId: `s${screens.length}`, serviceCode: '*1234#', phoneNumber };
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
    return (await reply.json()) as Record<string, string>;
  };
  const { sessionId } = await send('POST', '/sessions', { title: spoken, metadata: { note: spoken } });
  await send('POST', `/messages/${sessionId}`, { message: `I live in ${spoken}` });
  await send('POST', `/messages/${sessionId}`, { message: 7, note: spoken });
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
  ])
    expect(log.split('\n').filter((line) => line.includes(secret))).toEqual([]);
});

/** A language model that refuses every request and quotes it. */
async function startQuotingProvider() {
  const prompts: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    prompts.push(text);
    const error = { message: `cannot answer ${text}`, type: 'x', code: 'x' };
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    prompts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
