// The other user, in a process of their own so that nothing but the agent delays them: a short message five times a second,
// whether the one before has been answered or not.
import { text } from 'node:stream/consumers';
import { createKey, type Key } from './key.ts';

export interface Chat {
  /** Milliseconds from each message to the end of its answer. */
  times: number[];
  /** Messages without a complete answer, by what came instead. */
  failures: string[];
}

const everyMs = 200;
const sessionCount = 25;

const [url = '', did = ''] = process.argv.slice(2);
const key = await createKey(url, did, new Map());
const sessions: string[] = [];
for (let index = 0; index < sessionCount; index += 1)
  sessions.push((await key.send('POST', '/sessions')).body.sessionId);

const chat: Chat = { times: [], failures: [] };
const under_way = new Set<Promise<void>>();
let number = 0;
await ask(key, 'hello');
chat.times.length = 0;
const timer = setInterval(() => {
  const asked = ask(key, 'hello').finally(() => under_way.delete(asked));
  under_way.add(asked);
}, everyMs);
process.on('message', async () => {
  clearInterval(timer);
  await Promise.all(under_way);
  process.send?.(chat);
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function ask(user: Key, message: string): Promise<void> {
  const sessionId = sessions[number % sessionCount];
  number += 1;
  const startedAt = performance.now();
  try {
    const reply = await user.open('POST', `/messages/${sessionId}`, { body: { message, stream: true } });
    const answer = await text(reply);
    chat.times.push(performance.now() - startedAt);
    if (reply.statusCode !== 200 || !answer.includes('"status":"complete"'))
      chat.failures.push(`${reply.statusCode}: ${answer.slice(-200)}`);
  } catch (error) {
    chat.times.push(performance.now() - startedAt);
    chat.failures.push(String(error));
  }
}
