import { messageSchema, type PhoneContext, sessionSchema, ussdLimits } from '@palaver/contract';
import { didDocumentSchema, phoneContextSchema } from '@palaver/contract/internal';
import { z } from 'zod';
import { type FetchOptions, type FetchResult, fetchJson } from '../protocol/fetch-json.ts';
import type { SignFor } from './phone-signer.ts';

export type Answer =
  | { ok: true; text: string }
  /** `late`: the agent has the question and may still answer it. */
  | { ok: false; reason: string; late?: boolean };

export interface AgentClient {
  /** Sends a question in the phone's chat; opens a chat when there is none, or when the agent no longer knows it. */
  ask(question: {
    /** Sent as the request id, by which the answer is found again. */
    id: string;
    phone: string;
    text: string;
    /** Of the menus. */
    language: string;
    session: string | undefined;
    /** Called before anything is sent in a new chat. */
    onChat(session: string): Promise<void>;
  }): Promise<Answer>;
  /** The answer to a question that was asked before, by a process that did not live to take it. */
  findAnswer(question: { id: string; phone: string; session: string }): Promise<string | undefined>;
}

// Only what is used is checked: another version of the agent may send more or less around it.
const didSchema = didDocumentSchema.pick({ id: true });
const chatSchema = sessionSchema.pick({ sessionId: true });
const historySchema = z.object({
  messages: z.array(messageSchema.pick({ type: true, content: true, status: true, requestId: true })),
});
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

  async function send(phone: string, path: string, options: FetchOptions): Promise<FetchResult> {
    const token = await signFor(phone, await loadDid());
    const headers = { ...options.headers, authorization: `Bearer ${token}`, 'x-auth-type': 'ucan' };
    return fetchJson(`${agentUrl}${path}`, { ...options, headers });
  }

  async function openChat(phone: string): Promise<string> {
    const opened = await send(phone, '/sessions', { method: 'POST', timeoutMs, body: {} });
    return chatSchema.parse(toValue(opened)).sessionId;
  }

  return {
    async ask({ id, phone, text, language, session, onChat }) {
      const askIn = async (chat: string) =>
        send(phone, `/messages/${encodeURIComponent(chat)}`, {
          method: 'POST',
          timeoutMs: answerTimeoutMs,
          headers: { 'x-request-id': id, 'idempotency-key': id },
          body: { message: text, metadata: toMetadata(language) },
        });
      const askInNew = async () => {
        const chat = await openChat(phone);
        await onChat(chat);
        return askIn(chat);
      };
      try {
        let sent = session === undefined ? await askInNew() : await askIn(session);
        if (!sent.ok && sent.status === 404 && session !== undefined) sent = await askInNew();
        if (!sent.ok && sent.isTimeout) return { ok: false, reason: sent.reason, late: true };
        // The agent may have a new key since: the next question asks for it.
        if (!sent.ok && sent.status === 401) known = undefined;
        const { message } = answerSchema.parse(toValue(sent));
        if (message.status === 'failed' || message.content.trim() === '')
          return { ok: false, reason: 'an empty answer' };
        return { ok: true, text: message.content };
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) };
      }
    },
    async findAnswer({ id, phone, session }) {
      const history = await send(phone, toPath(session), { timeoutMs });
      if (!history.ok && history.status === 404) return undefined;
      const { messages } = historySchema.parse(toValue(history));
      const answer = messages.findLast(({ type, requestId }) => type === 'ai' && requestId === id);
      return answer && answer.status !== 'failed' && answer.content.trim() !== '' ? answer.content : undefined;
    },
  };
}

/** A language file may have a name that is no tag. */
function toMetadata(language: string): PhoneContext {
  const context = { client: 'phone', channel: 'ussd', screenCharacters: ussdLimits.screenCharacters } as const;
  const parsed = phoneContextSchema.safeParse({ ...context, language });
  return parsed.success ? parsed.data : context;
}

function toPath(chat: string): string {
  return `/sessions/${encodeURIComponent(chat)}/messages?limit=20`;
}

function toValue(result: FetchResult): unknown {
  if (!result.ok) throw new Error(`the agent service: ${result.reason}`);
  return result.value;
}
