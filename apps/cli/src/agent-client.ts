import {
  createAgentApi,
  createApprovals,
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
      const onEach = (event: StreamEvent) => {
        approvals.add(event);
        onEvent(event);
      };
      await followRun({ transport, runId, response, signal: new AbortController().signal, onEvent: onEach });
    },
  };
}
