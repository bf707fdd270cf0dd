import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createDelegation, createInvocation, createSigner } from '@palaver/ucan';
import { expect, it } from 'vitest';
import { startAgent } from './start-agent.ts';

const core = fileURLToPath(new URL('../src/core/index.ts', import.meta.url));

/** A process with what React Native lacks taken away: streamed bodies, `AbortSignal.any` and others. */
const script = (input: Record<string, string>) => `
  const { url, did, delegation, invocation } = ${JSON.stringify(input)};
  const { createChat, createTransport, createCredentialCache, createAgentApi } = await import(${JSON.stringify(core)});
  delete AbortSignal.any;
  delete AbortSignal.timeout;
  Object.defineProperty(URLSearchParams.prototype, 'size', { get: () => undefined });
  const paths = [];
  const nativeFetch = globalThis.fetch;
  const fetch = async (address, init) => {
    paths.push(address.slice(url.length));
    const reply = await nativeFetch(address, init);
    return { ok: reply.ok, status: reply.status, headers: reply.headers, text: () => reply.text(), json: () => reply.json() };
  };
  const sign = (serialized) => async () => ({ serialized, expiresAt: Date.now() / 1000 + 600 });
  const credentials = createCredentialCache({
    userDid: 'did:x', createDelegation: sign(delegation), createInvocation: sign(invocation),
  });
  const transport = createTransport({ baseUrl: url, oracleDid: did, credentials, fetch });
  const { sessionId } = await createAgentApi(transport).createSession();
  const chat = createChat({ transport, sessionId, socketUrl: url, pageSize: 7 });
  const stop = chat.start();
  await chat.send('/long 3');
  await chat.refetch();
  console.log(JSON.stringify({ contents: chat.get().messages.map(({ content }) => content), paths, error: chat.get().sendError?.message }));
  stop();
  process.exit(0);
`;

it('chats with what React Native has', async () => {
  await using agent = await startAgent();
  const issuer = await createSigner();
  const capability = { can: 'oracle/*', with: 'ixo:oracle' } as const;
  const { serialized: delegation } = await createDelegation({
    issuer,
    audience: agent.did,
    capabilities: [capability],
  });
  const { serialized: invocation } = await createInvocation({ issuer, audience: agent.did, capability });
  const code = script({ url: agent.url, did: agent.did, delegation, invocation });
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { cwd });
  expect(stderr).toBe('');
  const { contents, paths, error } = JSON.parse(stdout);
  expect(error).toBeUndefined();
  expect(contents).toEqual(['/long 3', 'word1 word2 word3']);
  expect(paths.some((path: string) => path.endsWith('/messages?limit=7'))).toBe(true);
});
