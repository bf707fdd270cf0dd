import { AppError, messageSchema, type PhoneContext, sessionSchema, ussdLimits } from '@palaver/contract';
import { didDocumentSchema, phoneContextSchema } from '@palaver/contract/internal';
import {
  createAgentApi,
  createCredentialCache,
  createTransport,
  OracleError,
  type Transport,
} from '@palaver/oracles-client-sdk/core';
import { fetchBounded, fetchJson } from '@palaver/service-kit/internal';
import { createInvocation, deriveSigner } from '@palaver/ucan';
import { z } from 'zod';

type Answer =
  | { ok: true; text: string }
  /** `late`: the agent has the question and may still answer it. */
  | { ok: false; reason: string; late?: boolean };

/** Its id is sent as the request id, by which the answer is found again. */
export type Question = Record<'id' | 'phone' | 'text' | 'language', string>;

export type AgentClient = ReturnType<typeof createAgentClient>;

interface ChatQuestion extends Question {
  session: string | undefined;
  onChat(session: string): Promise<void>;
}

// Only what is used is checked: another version of the agent may send more or less around it.
const chatSchema = sessionSchema.pick({ sessionId: true });
const historySchema = z.object({
  messages: z.array(messageSchema.pick({ type: true, content: true, status: true, requestId: true })),
});
const answerSchema = z.object({ message: messageSchema.pick({ content: true, status: true }) });

/** Long for a language model: the user is meanwhile offered to look again. */
const answerTimeoutMs = 120_000;
const requestMs = 5_000;

export function createAgentClient(transportFor: TransportFor) {
  return {
    /** Sends a question in the phone's chat; opens a chat when there is none, or when the agent no longer knows it. */
    async ask({ id, phone, text, language, session, onChat }: ChatQuestion): Promise<Answer> {
      const askIn = async (transport: Transport, chat: string) =>
        transport.json(`/messages/${encodeURIComponent(chat)}`, {
          method: 'POST',
          timeoutMs: answerTimeoutMs,
          signal: AbortSignal.timeout(answerTimeoutMs),
          headers: { 'x-request-id': id, 'idempotency-key': id },
          body: { message: text, metadata: toMetadata(language) },
        });
      const askInNew = async (transport: Transport) => {
        const signal = AbortSignal.timeout(requestMs);
        const { sessionId: chat } = chatSchema.parse(
          await transport.json('/sessions', { method: 'POST', signal, body: {} }),
        );
        await onChat(chat);
        return askIn(transport, chat);
      };
      try {
        const transport = await transportFor(phone);
        const retry = (error: unknown) => (isUnknown(error) ? askInNew(transport) : Promise.reject(error));
        const reply = session === undefined ? askInNew(transport) : askIn(transport, session).catch(retry);
        const { message } = answerSchema.parse(await reply);
        if (message.status === 'failed' || message.content.trim() === '')
          return { ok: false, reason: 'an empty answer' };
        return { ok: true, text: message.content };
      } catch (error) {
        if (error instanceof Error && error.name === 'TimeoutError')
          return { ok: false, reason: 'no answer in time', late: true };
        return { ok: false, reason: toReason(error) };
      }
    },
    /** The answer to a question that was asked before, by a process that ended before the answer came. */
    async findAnswer({ id, phone, session }: Record<'id' | 'phone' | 'session', string>) {
      const { listMessages } = createAgentApi(await transportFor(phone));
      const history = await listMessages(session, { limit: 20 }, AbortSignal.timeout(requestMs)).catch((error) => {
        if (isUnknown(error)) return { messages: [] };
        throw error;
      });
      const { messages } = historySchema.parse(history);
      const answer = messages.findLast(({ type, requestId }) => type === 'ai' && requestId === id);
      return answer && answer.status !== 'failed' && answer.content.trim() !== '' ? answer.content : undefined;
    },
  };
}

function isUnknown(error: unknown): boolean {
  return error instanceof OracleError && error.status === 404;
}

/** The name of a language file may not be a language tag. */
function toMetadata(language: string): PhoneContext {
  const context = { client: 'phone', channel: 'ussd', screenCharacters: ussdLimits.screenCharacters } as const;
  const parsed = phoneContextSchema.safeParse({ ...context, language });
  return parsed.success ? parsed.data : context;
}

const personMs = 30_000;
const maxBytes = 100_000_000;

export function createAgentPerson(transportFor: TransportFor) {
  async function call(phone: string, method: 'GET' | 'DELETE', path: string): Promise<unknown> {
    try {
      const transport = await transportFor(phone, maxBytes);
      return await transport.json(path, { method, signal: AbortSignal.timeout(personMs) });
    } catch (error) {
      const message = `The agent service cannot be asked (${toReason(error)}); nothing was done. Try again later.`;
      throw new AppError('UNAVAILABLE', message);
    }
  }
  return {
    export: (phone: string) => call(phone, 'GET', '/me/export'),
    erase: async (phone: string) => void (await call(phone, 'DELETE', '/me')),
  };
}

/** Requests to the agent in the name of a phone number: each has its own key, so users stay apart. */
type TransportFor = (phone: string, maxBytes?: number) => Promise<Transport>;

const timeoutMs = 5_000;
const didLifetimeMs = 10 * 60_000;
const lifetimeSeconds = 300;

export function createTransportFor(baseUrl: string, secret: Uint8Array): TransportFor {
  let known: { did: string; at: number } | undefined;

  async function loadDid(): Promise<string> {
    if (known && Date.now() - known.at < didLifetimeMs) return known.did;
    const result = await fetchJson(`${baseUrl}/.well-known/did.json`, { timeoutMs });
    if (!result.ok) throw new Error(result.reason);
    const { id } = didDocumentSchema.pick({ id: true }).parse(result.value);
    known = { did: id, at: Date.now() };
    return id;
  }

  return async (phone, maxBytes) => {
    const issuer = await toPhoneSigner(secret, phone);
    const cache = createCredentialCache({
      userDid: issuer.did(),
      createInvocation: (audience) =>
        createInvocation({ issuer, audience, capability: { can: 'oracle/*', with: audience }, lifetimeSeconds }),
    });
    return createTransport({
      baseUrl,
      oracleDid: await loadDid(),
      fetch: (url, init) => fetchBounded(url, { ...init, timeoutMs: answerTimeoutMs, maxBytes }),
      credentials: {
        ...cache,
        refuse(did, refused) {
          // The agent may have a new key: the next request asks for it.
          known = undefined;
          cache.refuse(did, refused);
        },
      },
    });
  };
}

function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return error instanceof OracleError && cause instanceof Error ? `${error.message} ${cause.message}` : error.message;
}

export async function toPhoneDid(secret: Uint8Array, phone: string): Promise<string> {
  return (await toPhoneSigner(secret, phone)).did();
}

const toPhoneSigner = (secret: Uint8Array, phone: string) => deriveSigner({ secret, label: `ussd phone ${phone}` });
