import type { SseEventData } from '@palaver/contract';
import {
  createAgentApi,
  createCredentialCache,
  createTransport,
  followRun,
  type StreamEvent,
} from '@palaver/oracles-client-sdk/core';
import { createDelegation, createInvocation, type Signer } from '@palaver/ucan';

/** What the terminal needs of the agent service: sessions, and runs that survive a dropped connection. */
export type AgentClient = ReturnType<typeof createAgentClient>;

export function createAgentClient({ url, did, signer }: { url: string; did: string; signer: Signer }) {
  const credentials = createCredentialCache({
    userDid: signer.did(),
    createInvocation: (audience) =>
      createInvocation({ issuer: signer, audience, capability: { can: 'oracle/*', with: audience } }),
  });
  const transport = createTransport({ baseUrl: url, oracleDid: did, credentials });
  const { createSession, abort, storeDelegation, answerApproval } = createAgentApi(transport);

  return {
    createSession,
    abort,
    /** Where a delegation is asked for, approving signs and posts exactly that one; an invocation is sent with the answer. */
    async answerApproval(
      { runId, approvalId, capability, invocation }: SseEventData['approval_request'],
      approved: boolean,
    ): Promise<void> {
      if (capability && approved) {
        const capabilities = [capability];
        await storeDelegation((await createDelegation({ issuer: signer, audience: did, capabilities })).serialized);
      }
      const signed =
        invocation && approved
          ? await createInvocation({ issuer: signer, ...invocation, capability: invocation.capability })
          : undefined;
      await answerApproval(runId, approvalId, { approved, ...(signed && { invocation: signed.serialized }) });
    },
    /** Sends a message and hands over the events of its run, through as many connections as it takes. */
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
      await followRun({ transport, runId, response, signal: new AbortController().signal, onEvent });
    },
  };
}
