import { setTimeout as sleep } from 'node:timers/promises';
import { fetchBounded } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { escapeText } from './slack-event.ts';

export interface SlackPost {
  channel: string;
  thread: string | undefined;
  text: string;
}

const timeoutMs = 10_000;
const attempts = 4;
/** Slack advises 4,000 characters a message; escapes may make a text longer. */
const maxCharacters = 3_500;
const longestWaitMs = 30_000;
const replySchema = z.object({ ok: z.boolean(), error: z.string().optional() }).catch({ ok: false });

export type SlackClient = ReturnType<typeof createSlackClient>;

/** The one call of Slack's web API that is needed. */
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
    /** Posts a text, in several messages where it is long. */
    async post({ channel, thread, text }: SlackPost): Promise<void> {
      for (const part of splitText(text)) {
        await post({ channel, text: escapeText(part), ...(thread && { thread_ts: thread }) });
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
