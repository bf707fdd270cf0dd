import assert from 'node:assert/strict';
import type { OracleApp } from '@palaver/agent';
import { sendMessageReplySchema, sessionSchema } from '@palaver/contract';
import { createInvocation, createSigner } from '@palaver/ucan';

export interface Exchange {
  say: string;
  /** What the answer must look like. */
  expect: RegExp;
}

/**
 * Talks to an agent as a new user: over HTTP, with a token signed by a fresh key. Prints the conversation, checks every
 * answer and stops the agent, unless the program was started with --serve.
 */
export async function converse(app: OracleApp, exchanges: Exchange[], look: string[] = []): Promise<void> {
  const url = await app.listen();
  console.log(`${app.did} listens at ${url}`);
  const issuer = await createSigner();
  const { serialized } = await createInvocation({
    issuer,
    audience: app.did,
    capability: { can: 'oracle/chat', with: 'ixo:oracle' },
  });
  const headers = {
    authorization: `Bearer ${serialized}`,
    'x-auth-type': 'ucan',
    'content-type': 'application/json',
  };
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return response.json();
  };
  const { sessionId } = sessionSchema.parse(await call('POST', '/sessions'));
  for (const { say, expect } of exchanges) {
    const reply = await call('POST', `/messages/${sessionId}`, { message: say });
    const { message } = sendMessageReplySchema.parse(reply);
    console.log(`\n> ${say}\n${message.content}`);
    assert.match(message.content, expect);
  }
  for (const path of look) console.log(`\nGET ${path}\n${JSON.stringify(await call('GET', path))}`);
  if (process.argv.includes('--serve')) console.log('\nIt listens until Ctrl-C stops it.');
  else await app.close();
}
