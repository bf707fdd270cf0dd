import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { equalSecrets, fetchBounded } from '@palaver/service-kit/internal';
import { z } from 'zod';

const id = z.string().regex(/^[A-Za-z0-9]{1,40}$/);
const time = z.string().regex(/^\d{1,12}\.\d{1,9}$/);

export const slackRequestSchema = z.union([
  z.object({ type: z.literal('url_verification'), challenge: z.string().max(1_000) }),
  z.object({
    type: z.literal('event_callback'),
    team_id: id,
    event_id: id,
    event: z.looseObject({ type: z.string() }),
  }),
]);

const messageSchema = z.object({
  type: z.enum(['app_mention', 'message']),
  channel: id,
  channel_type: z.string().optional(),
  user: id,
  text: z.string(),
  ts: time,
  thread_ts: time.optional(),
  // Messages of bots (including our own answers) and edits carry these; people's messages do not.
  bot_id: z.undefined().optional(),
  subtype: z.undefined().optional(),
});

export interface SlackMessage {
  channel: string;
  user: string;
  text: string;
  thread: string;
  /** Where the answer goes; a direct message is answered beside it, not under it. */
  replyTo: string | undefined;
  /** Whether the agent reads everything that is said there; in a channel, only what mentions it. */
  isDirect: boolean;
}

export function readMessage(event: unknown): SlackMessage | undefined {
  const parsed = messageSchema.safeParse(event);
  if (!parsed.success) return undefined;
  const { type, channel, channel_type, user, ts, thread_ts } = parsed.data;
  const isDirect = channel_type === 'im';
  if (type === 'message' && !isDirect) return undefined;
  const text = toPlainText(parsed.data.text);
  if (text === '') return undefined;
  const root = thread_ts ?? (isDirect ? undefined : ts);
  return { channel, user, text, thread: root ?? 'direct', replyTo: root, isDirect };
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };
const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Without the mention that calls the agent, links as people read them, and Slack's three escapes undone. */
function toPlainText(text: string): string {
  return text
    .replace(/^\s*<@[A-Z0-9]+(\|[^>]*)?>/, '')
    .replaceAll(/<([^@#!|>][^|>]*)(?:\|([^>]*))?>/g, (_whole, link: string, label?: string) => label ?? link)
    .replaceAll(/&(?:amp|lt|gt);/g, (entity) => entities[entity] ?? entity)
    .trim();
}

const windowSeconds = 5 * 60;

interface SignedRequest {
  signingSecret: string;
  timestamp: string | undefined;
  signature: string | undefined;
  body: string;
}

/** An old request is a replay, however well it is signed. */
export function isFromSlack({ signingSecret, timestamp, signature, body }: SignedRequest, now = Date.now()): boolean {
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > windowSeconds) return false;
  const expected = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
  return equalSecrets(signature, `v0=${expected}`);
}

const timeoutMs = 10_000;
const attempts = 4;
/** Slack advises 4,000 characters a message; escapes may make a text longer. */
const maxCharacters = 3_500;
const longestWaitMs = 30_000;
const replySchema = z.object({ ok: z.boolean(), error: z.string().optional() }).catch({ ok: false });

type SlackPost = { channel: string; thread: string | undefined; text: string };

export type SlackClient = ReturnType<typeof createSlackClient>;

export function createSlackClient({ apiUrl, token }: { apiUrl: string; token: string }) {
  async function post(body: object): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetchBounded(`${apiUrl}/chat.postMessage`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify(body),
        timeoutMs,
      });
      const isBusy = response.status === 429 || response.status >= 500;
      if (!isBusy || attempt === attempts) {
        const { ok, error } = replySchema.parse(await response.json().catch(() => undefined));
        if (ok) return;
        throw new Error(`Slack did not take the answer: ${error ?? `status ${response.status}`}`);
      }
      const asked = Number(response.headers.get('retry-after') ?? 0) * 1000;
      await sleep(Math.min(Math.max(asked, 250 * 2 ** attempt), longestWaitMs));
    }
  }

  return {
    async post({ channel, thread, text }: SlackPost): Promise<void> {
      for (const part of splitText(text)) {
        const escaped = part.replaceAll(/[&<>]/g, (mark) => escapes[mark] ?? mark);
        await post({ channel, text: escaped, ...(thread && { thread_ts: thread }) });
      }
    },
  };
}

/** At the end of a line or a word where there is one in the second half of a part. */
export function splitText(text: string, max = maxCharacters): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > max) {
    const [line, word] = [rest.lastIndexOf('\n', max), rest.lastIndexOf(' ', max)];
    const at = [line, word].find((index) => index > max / 2) ?? withoutHalfCharacter(rest, max);
    parts.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
  return [...parts, rest].filter((part) => part !== '');
}

function withoutHalfCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at;
}
