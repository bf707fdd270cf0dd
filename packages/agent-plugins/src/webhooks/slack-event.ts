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

/** Something a person said to the agent. */
export interface SlackMessage {
  channel: string;
  user: string;
  text: string;
  /** What distinguishes conversations of a channel. */
  thread: string;
  /** Where the answer goes; a direct message is answered beside it, not under it. */
  replyTo: string | undefined;
  /** Whether the agent reads everything that is said there; in a channel, only what mentions it. */
  isDirect: boolean;
}

/** The message of an event; undefined if it is not for the agent. */
export function readMessage(event: unknown): SlackMessage | undefined {
  const parsed = messageSchema.safeParse(event);
  if (!parsed.success) return undefined;
  const { type, channel, channel_type, user, ts, thread_ts } = parsed.data;
  const isDirect = channel_type === 'im';
  // In a channel only what mentions the agent is meant for it; in a direct message everything is.
  if (type === 'message' && !isDirect) return undefined;
  const text = toPlainText(parsed.data.text);
  if (text === '') return undefined;
  const root = thread_ts ?? (isDirect ? undefined : ts);
  return { channel, user, text, thread: root ?? 'direct', replyTo: root, isDirect };
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };

/** Without the mention that calls the agent, links as people read them, and Slack's three escapes undone. */
function toPlainText(text: string): string {
  return text
    .replace(/^\s*<@[A-Z0-9]+(\|[^>]*)?>/, '')
    .replaceAll(/<([^@#!|>][^|>]*)(?:\|([^>]*))?>/g, (_whole, link: string, label?: string) => label ?? link)
    .replaceAll(/&(?:amp|lt|gt);/g, (entity) => entities[entity] ?? entity)
    .trim();
}

/** Slack reads these three as markup. */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
