import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorBody, Session, SseEvent, SseEventData } from '@palaver/contract';
import { StartError } from '@palaver/service-kit';
import { type Capability, createDelegation, createInvocation, type MintedToken, type Signer } from '@palaver/ucan';

const renewSeconds = 30;
const resumeAttempts = 10;

/** What the terminal needs of the agent service: sessions, and turns that survive a dropped connection. */
export type AgentClient = ReturnType<typeof createAgentClient>;

export function createAgentClient({ url, did, signer }: { url: string; did: string; signer: Signer }) {
  let token: MintedToken | undefined;

  async function request(method: string, path: string, body?: unknown): Promise<Response> {
    if (!token || token.expiresAt - Date.now() / 1000 < renewSeconds) {
      token = await createInvocation({ issuer: signer, audience: did, capability: { can: 'oracle/*', with: did } });
    }
    const headers = {
      authorization: `Bearer ${token.serialized}`,
      'x-auth-type': 'ucan',
      'content-type': 'application/json',
    };
    const reply = await fetch(new URL(path, url), {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (reply.ok) return reply;
    const error = (await reply.json().catch(() => ({}))) as Partial<ErrorBody>;
    throw new StartError(`${error.message ?? reply.statusText} (${error.code ?? reply.status})`);
  }

  return {
    async createSession(): Promise<Session> {
      return (await request('POST', '/sessions')).json() as Promise<Session>;
    },
    async abort(sessionId: string): Promise<void> {
      await request('POST', '/messages/abort', { sessionId });
    },
    /** Where a delegation is asked for, approving signs and posts exactly that one. */
    async answerApproval(
      { runId, approvalId, capability }: SseEventData['approval_request'],
      approved: boolean,
    ): Promise<void> {
      if (capability && approved) {
        const capabilities = [capability as Capability];
        const { serialized: raw } = await createDelegation({ issuer: signer, audience: did, capabilities });
        await request('POST', '/delegation', { raw });
      }
      await request('POST', `/runs/${runId}/approvals/${approvalId}`, { approved });
    },
    /** Sends a message and gives the events of its turn; a connection that drops is resumed where it broke. */
    async *send(sessionId: string, body: { message: string; model?: string | undefined }): AsyncGenerator<SseEvent> {
      let reply = await request('POST', `/messages/${sessionId}`, { ...body, stream: true });
      const runId = reply.headers.get('x-run-id');
      let last = 0;
      for (let attempt = 0; ; attempt += 1) {
        try {
          for await (const { id, event } of readEvents(reply)) {
            last = id;
            attempt = 0;
            yield event;
            if (event.name === 'done') return;
          }
        } catch (error) {
          if (error instanceof StartError || attempt >= resumeAttempts) throw error;
        }
        if (attempt >= resumeAttempts) throw new StartError('The connection broke and could not be resumed again.');
        await sleep(250 * (attempt + 1));
        reply = await request('GET', `/runs/${runId}?after=${last}`).catch((error) => {
          if (error instanceof StartError) throw error;
          return new Response(''); // the server is still away: the next round tries again
        });
      }
    },
  };
}

/** The frames of our own service: one `data:` line each, comments as heartbeats. */
async function* readEvents(reply: Response): AsyncGenerator<{ id: number; event: SseEvent }> {
  let rest = '';
  for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + chunk).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const fields = new Map(
        frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      const name = fields.get('event');
      if (name)
        yield {
          id: Number(fields.get('id')),
          event: { name, data: JSON.parse(fields.get('data') ?? 'null') } as SseEvent,
        };
    }
  }
}
