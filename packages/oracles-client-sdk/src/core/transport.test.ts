import { defineOraclePlugin, ToolError } from '@palaver/agent';
import { waitFor } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createUser, createWallet, startAgent, type TestAgent } from '../../test/start-agent.ts';
import { createAgentApi } from './agent-api.ts';
import { createChat } from './chat.ts';
import { createCredentialCache } from './credentials.ts';
import { createTransport } from './transport.ts';

/** A tool that needs what no delegation of the tests grants. */
const vault = defineOraclePlugin({
  name: 'vault',
  version: '1.0.0',
  manifest: { title: 'Vault', summary: 'Opens.', whenToUse: ['never'], visibility: 'always', stability: 'stable' },
  getTools: () => ({
    open_vault: {
      description: 'Opens the vault.',
      inputSchema: z.object({}),
      execute(_args, rt) {
        rt.ucan.requireCapability({ can: 'vault/open', with: 'ixo:vault' });
        throw new ToolError('TOOL_FAILED', 'not reached');
      },
    },
  }),
});

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent({}, [vault]);
});
afterAll(() => agent?.[Symbol.asyncDispose]());

async function createTransportWith(mint: (count: number) => Promise<{ serialized: string; expiresAt: number }>) {
  const wallet = createWallet(await createSigner());
  let minted = 0;
  const credentials = createCredentialCache({
    userDid: wallet.did,
    createDelegation: wallet.createDelegation,
    createInvocation: () => mint(++minted),
  });
  const transport = createTransport({
    baseUrl: `${agent.url}/`,
    oracleDid: agent.did,
    credentials,
    userDid: wallet.did,
  });
  return { transport, credentials, minted: () => minted };
}

/** The network stack takes one byte at once and no other; the reply comes after four minutes. */
class SlowRequest {
  status = 200;
  statusText = 'OK';
  responseText = '{"fileId":"f"}';
  upload: { onprogress?: (event: { loaded: number; total: number }) => void } = {};
  onload?: () => void;
  onabort?: () => void;
  onloadend?: () => void;
  open() {}
  setRequestHeader() {}
  getResponseHeader = () => null;
  send({ size }: Blob) {
    this.upload.onprogress?.({ loaded: 1, total: size });
    setTimeout(() => this.onload?.(), 4 * 60_000);
  }
  abort() {
    this.onabort?.();
  }
}

const farAhead = Math.floor(Date.now() / 1000) + 3600;

describe('requests', () => {
  it('throw the error body of the service', async () => {
    const { transport } = await createUser(agent);
    await expect(transport.json('/sessions?limit=0')).rejects.toMatchObject({
      name: 'OracleError',
      status: 400,
      code: 'VALIDATION_FAILED',
      details: { issues: [{ path: 'limit' }] },
    });
    await expect(transport.json('/nothing')).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('say when to try again and the id of the request in the log', async () => {
    const { credentials } = await createUser(agent);
    const reply = (retryAfter: string) =>
      Response.json(
        { code: 'RATE_LIMITED' },
        { status: 429, headers: { 'retry-after': retryAfter, 'x-request-id': 'r1' } },
      );
    const replies = [reply('7'), reply(new Date(Date.now() + 60_000).toUTCString()), reply('soon')];
    const fetch = async () => replies.shift() ?? Response.error();
    const transport = createTransport({ baseUrl: 'http://a.example', oracleDid: agent.did, credentials, fetch });
    const seen: unknown[] = [];
    for (let count = 0; count < 3; count += 1)
      await transport
        .json('/sessions')
        .catch(({ retryAfterMs, requestId, retryable }) => seen.push({ retryAfterMs, requestId, retryable }));
    expect(seen).toEqual([
      { retryAfterMs: 7_000, requestId: 'r1', retryable: true },
      { retryAfterMs: expect.any(Number), requestId: 'r1', retryable: true },
      { retryAfterMs: undefined, requestId: 'r1', retryable: true },
    ]);
  });

  it('report when nobody answers', async () => {
    const { credentials } = await createUser(agent);
    const transport = createTransport({ baseUrl: 'http://127.0.0.1:1', oracleDid: agent.did, credentials });
    await expect(transport.json('/sessions')).rejects.toMatchObject({ status: 0, code: 'NETWORK_ERROR' });
  });

  it('try once more with a new invocation after a 401', async () => {
    const signer = await createSigner();
    const capability = { can: 'oracle/*', with: 'ixo:oracle' } as const;
    const { transport, minted } = await createTransportWith(async (count) =>
      count === 1
        ? { serialized: 'broken', expiresAt: farAhead }
        : createInvocation({ issuer: signer, audience: agent.did, capability }),
    );
    expect(await createAgentApi(transport).listSessions()).toMatchObject({ total: 0 });
    expect(minted()).toBe(2);
    await createAgentApi(transport).listSessions();
    expect(minted()).toBe(2);
  });

  it('give up after the second 401', async () => {
    const { transport, minted } = await createTransportWith(async () => ({
      serialized: 'broken',
      expiresAt: farAhead,
    }));
    await expect(transport.json('/sessions')).rejects.toMatchObject({ status: 401, code: 'UCAN_MALFORMED' });
    expect(minted()).toBe(2);
  });
});

describe('uploads', () => {
  it('wait for the reply to a file that the network stack has taken as a whole', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    vi.stubGlobal('XMLHttpRequest', SlowRequest);
    onTestFinished(() => void vi.unstubAllGlobals());
    const { credentials } = await createUser(agent);
    const transport = createTransport({ baseUrl: 'http://a.example', oracleDid: agent.did, credentials });
    const upload = (size: number) =>
      transport.json('/files', { method: 'POST', file: new Blob(['x'.repeat(size)]), onProgress: () => {} });
    const [taken, stalled] = [upload(1), upload(2)];
    const outcome = expect(stalled).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    await outcome;
    expect(await taken).toEqual({ fileId: 'f' });
  });
});

describe('the socket', () => {
  it('comes back with a new invocation when the first is refused', async () => {
    const user = await createUser(agent);
    const { sessionId } = await createAgentApi(user.transport).createSession();
    let minted = 0;
    const credentials = createCredentialCache({
      userDid: user.wallet.did,
      createDelegation: user.wallet.createDelegation,
      createInvocation: async (audience) => {
        minted += 1;
        return minted === 1 ? { serialized: 'broken', expiresAt: farAhead } : user.wallet.createInvocation(audience);
      },
    });
    // HTTP goes its own way, so that the handshake alone meets the broken token.
    const chat = createChat({ transport: { ...user.transport, credentials }, sessionId, socketUrl: agent.url });
    onTestFinished(chat.start());
    await waitFor('the socket', () => chat.get().isRealTimeConnected);
    expect(minted).toBe(2);
  });
});

describe('a delegation the agent misses', () => {
  it('is signed again and posted when the agent asks', async () => {
    const user = await createUser(agent);
    const api = createAgentApi(user.transport);
    const { sessionId } = await api.createSession();
    const isAuthorized = async () => (await user.transport.json<{ authorized: boolean }>('/delegation')).authorized;
    expect(await isAuthorized()).toBe(false);
    const chat = createChat({ transport: user.transport, sessionId });
    onTestFinished(chat.start());
    await chat.send('/tool open_vault {}');
    expect(chat.get().messages.at(-1)).toMatchObject({ components: [{ componentName: 'ReauthorizePrompt' }] });
    await waitFor('the delegation at the service', isAuthorized);
  });
});
