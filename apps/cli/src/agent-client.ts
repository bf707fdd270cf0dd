import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createAgentApi,
  createApprovals,
  createCredentialCache,
  createTransport,
  followRun,
  type StreamEvent,
} from '@palaver/oracles-client-sdk/core';
import { type Env, StartError } from '@palaver/service-kit';
import { fetchBounded, loadOrCreateSecretFile } from '@palaver/service-kit/internal';
import { createDelegation, createInvocation, createSigner, parseSigner, type Signer } from '@palaver/ucan';

export type AgentClient = ReturnType<typeof createAgentClient>;

export function createAgentClient({ url, did, signer }: { url: string; did: string; signer: Signer }) {
  const credentials = createCredentialCache({
    userDid: signer.did(),
    createInvocation: (audience, capability = { can: 'oracle/*', with: audience }) =>
      createInvocation({ issuer: signer, audience, capability }),
  });
  const transport = createTransport({ baseUrl: url, oracleDid: did, credentials });
  const api = createAgentApi(transport);
  const approvals = createApprovals(transport, api, async (capability) => {
    const { serialized } = await createDelegation({ issuer: signer, audience: did, capabilities: [capability] });
    await api.storeDelegation(serialized);
  });

  return {
    createSession: api.createSession,
    abort: api.abort,
    answerApproval: (approvalId: string, approved: boolean) => approvals.answer(approvalId, { approved }),
    async send(
      sessionId: string,
      body: { message: string; model?: string | undefined },
      onEvent: (event: StreamEvent) => void,
    ): Promise<void> {
      const response = await transport.request(`/messages/${encodeURIComponent(sessionId)}`, {
        method: 'POST',
        body: { ...body, stream: true },
      });
      const runId = response.headers.get('x-run-id') ?? undefined;
      const onEach = (event: StreamEvent) => {
        approvals.add(event);
        onEvent(event);
      };
      await followRun({ transport, runId, response, signal: new AbortController().signal, onEvent: onEach });
    },
  };
}

export async function fetchAgentDid(url: string): Promise<string> {
  const address = new URL('/.well-known/did.json', url);
  const reply = await fetchBounded(address, { timeoutMs: 5_000, redirect: 'follow' }).catch((error: Error) => {
    throw new StartError(`No agent answers at ${url} (${String((error.cause as Error)?.message ?? error.message)}).`, {
      cause: error,
    });
  });
  const document = (await reply.json().catch(() => ({}))) as { id?: unknown };
  if (!reply.ok || typeof document.id !== 'string')
    throw new StartError(`${url} is not an agent: ${address.pathname} has no DID.`);
  return document.id;
}

export function toKeyPath(env: Env): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'palaver', 'user.key');
}

/** The key is created at the first use, with mode 0600. */
export async function loadUserKey(path: string): Promise<{ signer: Signer; created: boolean }> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = (await createSigner()).toSecret();
  const { secret, created } = loadOrCreateSecretFile(path, () => fresh);
  const parsed = await parseSigner(secret);
  if (!parsed.ok) throw new StartError(`${path} does not hold a key: ${parsed.error.message}.`);
  return { signer: parsed.ok, created };
}
