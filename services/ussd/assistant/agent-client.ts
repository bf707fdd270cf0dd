import { didDocumentSchema, messageSchema, sessionSchema } from '@palaver/contract';
import { z } from 'zod';
import { type FetchResult, fetchJson } from '../protocol/fetch-json.ts';
import type { SignFor } from './phone-signer.ts';

export type Answer = { ok: true; text: string; session: string } | { ok: false; reason: string };

export interface AgentClient {
  /** Sends a question in the phone's chat; opens a chat when there is none, or when the agent no longer knows it. */
  ask(question: { phone: string; text: string; session: string | undefined }): Promise<Answer>;
}

// Only what is used is checked: another version of the agent may send more or less around it.
const didSchema = didDocumentSchema.pick({ id: true });
const chatSchema = sessionSchema.pick({ sessionId: true });
const answerSchema = z.object({ message: messageSchema.pick({ content: true, status: true }) });

/** A language model may take its time: the user is meanwhile offered to look again. */
const answerTimeoutMs = 120_000;
const timeoutMs = 5_000;
const didLifetimeMs = 10 * 60_000;

export function createAgentClient(agentUrl: string, signFor: SignFor): AgentClient {
  let known: { did: string; at: number } | undefined;

  async function loadDid(): Promise<string> {
    if (known && Date.now() - known.at < didLifetimeMs) return known.did;
    const result = await fetchJson(`${agentUrl}/.well-known/did.json`, { timeoutMs });
    const { id } = didSchema.parse(toValue(result));
    known = { did: id, at: Date.now() };
    return id;
  }

  async function post(phone: string, path: string, body: unknown, limitMs: number): Promise<FetchResult> {
    const token = await signFor(phone, await loadDid());
    const headers = { authorization: `Bearer ${token}`, 'x-auth-type': 'ucan' };
    return fetchJson(`${agentUrl}${path}`, { method: 'POST', timeoutMs: limitMs, headers, body });
  }

  async function openChat(phone: string): Promise<string> {
    return chatSchema.parse(toValue(await post(phone, '/sessions', {}, timeoutMs))).sessionId;
  }

  return {
    async ask({ phone, text, session }) {
      try {
        let chat = session ?? (await openChat(phone));
        const send = () =>
          post(
            phone,
            `/messages/${encodeURIComponent(chat)}`,
            { message: text, metadata: { client: 'phone' } },
            answerTimeoutMs,
          );
        let sent = await send();
        if (!sent.ok && sent.status === 404 && session !== undefined) {
          chat = await openChat(phone);
          sent = await send();
        }
        // The agent may have a new key since: the next question asks for it.
        if (!sent.ok && sent.status === 401) known = undefined;
        const { message } = answerSchema.parse(toValue(sent));
        if (message.status === 'failed' || message.content.trim() === '')
          return { ok: false, reason: 'an empty answer' };
        return { ok: true, text: message.content, session: chat };
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

function toValue(result: FetchResult): unknown {
  if (!result.ok) throw new Error(`the agent service: ${result.reason}`);
  return result.value;
}
