import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTempDir, waitFor } from '@palaver/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBank, readPaid } from '../../../agent/test/bank-plugin.ts';
import { type OpenAiServer, refuse, say, startOpenAiServer } from '../../../agent/test/openai-server.ts';
import { startTestAgent, type TestAgent } from '../../../agent/test/test-agent.ts';
import { readMessage, splitText } from './slack-api.ts';
import { readAnswer } from './slack-conversations.ts';

const secret = 'a-signing-secret';

interface Posted {
  path: string;
  authorization: string | undefined;
  body: { channel: string; text: string; thread_ts?: string };
}

/** Slack's web API at the wire: takes chat.postMessage and answers as Slack does. */
async function startSlack() {
  const posted: Posted[] = [];
  const refusals: ((response: ServerResponse) => void)[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const refusal = refusals.shift();
    if (refusal) return refusal(response);
    posted.push({ path: request.url ?? '', authorization: request.headers.authorization, body: JSON.parse(text) });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"ts":"1.2"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`,
    posted,
    refusals,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

let slack: Awaited<ReturnType<typeof startSlack>>;
let model: OpenAiServer;
let agent: TestAgent;
let eventNumber = 0;

beforeAll(async () => {
  slack = await startSlack();
  model = await startOpenAiServer(say('It is ', '<ripe> & ready.'));
  agent = await startTestAgent({
    env: {
      LLM_BASE_URL: model.url,
      SLACK_SIGNING_SECRET: secret,
      SLACK_BOT_TOKEN: 'xoxb-test',
      SLACK_API_URL: slack.url,
    },
  });
});

afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await slack.close();
});

beforeEach(() => {
  slack.posted.length = 0;
  model.requests.length = 0;
});

async function deliver(payload: unknown, headers: Record<string, string> = {}, key = secret): Promise<Response> {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const timestamp = headers['x-slack-request-timestamp'] ?? String(Math.floor(Date.now() / 1000));
  const signature = `v0=${createHmac('sha256', key).update(`v0:${timestamp}:${body}`).digest('hex')}`;
  return fetch(`${agent.url}/webhooks/slack`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': signature,
      ...headers,
    },
    body,
  });
}

function toCallback(event: object) {
  eventNumber += 1;
  return { type: 'event_callback', team_id: 'T1', event_id: `Ev${eventNumber}`, event };
}

const mention = (text: string, more: object = {}) =>
  toCallback({ type: 'app_mention', channel: 'C1', user: 'U1', text: `<@UBOT> ${text}`, ts: '100.1', ...more });

/** Delivers an event and waits for what the agent posts. */
async function converse(payload: object): Promise<Posted> {
  const before = slack.posted.length;
  expect((await deliver(payload)).status).toBe(200);
  await waitFor('the answer', () => slack.posted.length > before);
  return slack.posted.at(-1) as Posted;
}

/** What the model received last, the system prompt aside. */
function lastAsked(): string[] {
  const { messages } = model.requests.at(-1)?.body ?? { messages: [] };
  return messages.slice(1).map(({ content }: { content: string }) => content);
}

describe('the signature', () => {
  it.each<[string, Record<string, string>, string]>([
    ['of another secret', {}, 'another-secret'],
    ['that is missing', { 'x-slack-signature': '' }, secret],
    ['of other bytes', { 'x-slack-signature': `v0=${'0'.repeat(64)}` }, secret],
    ['from six minutes ago', { 'x-slack-request-timestamp': String(Math.floor(Date.now() / 1000) - 360) }, secret],
    ['from the future', { 'x-slack-request-timestamp': String(Math.floor(Date.now() / 1000) + 360) }, secret],
    ['with a strange time', { 'x-slack-request-timestamp': '1e9' }, secret],
  ])('%s is refused', async (_what, headers, key) => {
    const response = await deliver(mention('hello'), headers, key);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ statusCode: 401, code: 'UNAUTHORIZED' });
    expect(slack.posted).toEqual([]);
  });

  it('is needed for the challenge too, which is then given back', async () => {
    const challenge = { type: 'url_verification', challenge: 'c-123' };
    expect((await deliver(challenge, {}, 'another-secret')).status).toBe(401);
    expect(await (await deliver(challenge)).json()).toEqual({ challenge: 'c-123' });
  });

  it('over something that is not an event is acknowledged and ignored', async () => {
    for (const body of ['not json', '{}', '[]', '{"type":"event_callback"}'])
      expect((await deliver(body)).status).toBe(200);
  });
});

describe('a conversation', () => {
  it('is answered in its thread, by the bot', async () => {
    const { path, authorization, body } = await converse(
      mention('is &lt;this&gt; ripe? see <https://a.example|the photo>'),
    );
    expect({ path, authorization }).toEqual({ path: '/api/chat.postMessage', authorization: 'Bearer xoxb-test' });
    expect(body).toEqual({ channel: 'C1', text: 'It is &lt;ripe&gt; &amp; ready.', thread_ts: '100.1' });
    expect(lastAsked()).toEqual(['is <this> ripe? see the photo']);
  });

  it('continues in its thread, also after a restart, and is a new one in another', async () => {
    await converse(mention('first', { ts: '200.1' }));
    await converse(mention('second', { ts: '200.2', thread_ts: '200.1' }));
    expect(lastAsked()).toEqual(['first', 'It is <ripe> & ready.', 'second']);
    await agent.restart();
    await converse(mention('third', { ts: '200.3', thread_ts: '200.1' }));
    expect(lastAsked()).toHaveLength(5);
    await converse(mention('elsewhere', { ts: '300.1' }));
    expect(lastAsked()).toEqual(['elsewhere']);
  });

  it('is each person’s own, even in one thread', async () => {
    await converse(mention('my secret plan', { ts: '400.1' }));
    await converse(mention('what did she say?', { ts: '400.2', thread_ts: '400.1', user: 'U2' }));
    expect(lastAsked()).toEqual(['what did she say?']);
  });

  it('in a direct message needs no mention and no thread', async () => {
    const direct = (text: string, ts: string) =>
      toCallback({ type: 'message', channel_type: 'im', channel: 'D1', user: 'U1', text, ts });
    expect((await converse(direct('one', '1.1'))).body).not.toHaveProperty('thread_ts');
    await converse(direct('two', '1.2'));
    expect(lastAsked()).toEqual(['one', 'It is <ripe> & ready.', 'two']);
  });
});

it('Slack’s own repetitions are answered once', async () => {
  const event = mention('only once', { ts: '500.1' });
  const replies = await Promise.all([deliver(event), deliver(event, { 'x-slack-retry-num': '1' }), deliver(event)]);
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  await deliver(mention('something else', { ts: '500.2' }));
  const answers = (thread: string) => slack.posted.filter(({ body }) => body.thread_ts === thread);
  await waitFor('both answers', () => answers('500.1').length > 0 && answers('500.2').length > 0);
  expect(answers('500.1')).toHaveLength(1);
});

it('an answer Slack is too busy for is posted again', async () => {
  slack.refusals.push((response) => response.writeHead(429, { 'retry-after': '0' }).end());
  slack.refusals.push((response) => response.writeHead(503).end());
  expect((await converse(mention('busy?', { ts: '600.1' }))).body.thread_ts).toBe('600.1');
  expect(slack.refusals).toEqual([]);
});

it('what goes wrong is reported in the thread, without details', async () => {
  await using broken = await startOpenAiServer(refuse(401));
  await using other = await startTestAgent({
    env: { LLM_BASE_URL: broken.url, SLACK_SIGNING_SECRET: secret, SLACK_BOT_TOKEN: 'x', SLACK_API_URL: slack.url },
  });
  const own = agent;
  agent = other;
  try {
    expect((await converse(mention('hello'))).body.text).toContain('Sorry');
  } finally {
    agent = own;
  }
});

describe('a tool that needs approval', () => {
  let own: TestAgent;
  let dir: Awaited<ReturnType<typeof createTempDir>>;
  const paid = () => readPaid(`${dir.path}/paid`);
  const order = (amount: number) => `/tool pay {"to":"ben","amount":${amount},"pin":"pin-4711"}`;
  const codeOf = ({ body }: Posted) => /approve ([0-9a-f]{6})/.exec(body.text)?.[1] ?? '';

  beforeAll(async () => {
    own = agent;
    dir = await createTempDir();
    agent = await startTestAgent({
      plugins: [createBank(`${dir.path}/paid`)],
      env: { SLACK_SIGNING_SECRET: secret, SLACK_BOT_TOKEN: 'xoxb-test', SLACK_API_URL: slack.url },
    });
  });
  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
    agent = own;
  });

  it('asks in the thread, and runs once it is approved there by who asked', async () => {
    const asked = await converse(mention(order(50), { ts: '700.1' }));
    expect(asked.body).toMatchObject({ channel: 'C1', thread_ts: '700.1' });
    expect(asked.body.text).toContain('May I run pay with this?\n{"to":"ben","amount":50}');
    expect(asked.body.text).not.toContain('pin-4711');
    expect(paid()).toEqual([]);
    const approve = (text: string, more = {}) => mention(text, { ts: '700.2', thread_ts: '700.1', ...more });
    // Somebody else in the thread has a session of their own.
    await converse(approve(`approve ${codeOf(asked)}`, { user: 'U2' }));
    expect(paid()).toEqual([]);
    // Which one is meant must be plain.
    expect((await converse(approve('yes'))).body.text).toBe(asked.body.text);
    expect((await converse(approve('approve abcdef'))).body.text).toBe(asked.body.text);
    expect(paid()).toEqual([]);
    const answer = await converse(approve(`Approve ${codeOf(asked)}.`));
    expect(answer.body.text).toContain('50');
    expect(paid()).toEqual(['ben 50']);
    const before = slack.posted.length;
    await converse(mention('hello', { ts: '700.9', thread_ts: '700.1' }));
    expect(slack.posted).toHaveLength(before + 1);
  });

  it('is refused by a word with its reason, or by any other message', async () => {
    const before = paid();
    const thread = { ts: '710.2', thread_ts: '710.1' };
    const asked = await converse(mention(order(60), { ts: '710.1' }));
    const refused = await converse(mention(`refuse ${codeOf(asked)}: too much`, thread));
    expect(refused.body.text).toContain('Reason: too much');
    await converse(mention(order(70), thread));
    const posted = slack.posted.length;
    await deliver(mention('hello', thread));
    await waitFor('both answers', () => slack.posted.length === posted + 2);
    const texts = slack.posted.slice(posted).map(({ body }) => body.text);
    expect(texts.filter((text) => text.includes('APPROVAL_REFUSED'))).toHaveLength(1);
    expect(paid()).toEqual(before);
  });

  it('waits through a restart, and the answer after it is followed', async () => {
    const before = paid();
    const asked = await converse(mention(order(80), { ts: '720.1' }));
    const posted = slack.posted.length;
    await agent.restart();
    expect(slack.posted).toHaveLength(posted);
    const approve = mention(`approve ${codeOf(asked)}`, { ts: '720.2', thread_ts: '720.1' });
    expect((await converse(approve)).body.text).toContain('80');
    expect(paid()).toEqual([...before, 'ben 80']);
  });

  it('and a signature of the user is refused with the reason: nobody can sign in Slack', async () => {
    const before = paid();
    const answer = await converse(mention('/tool withdraw {"amount":5}', { ts: '730.1' }));
    expect(answer.body.text).toContain('authorisation');
    expect(paid()).toEqual(before);
  });
});

describe('is not for the agent:', () => {
  it.each<[string, object]>([
    ['its own answer', { type: 'message', channel_type: 'im', bot_id: 'B1' }],
    ['an edit', { type: 'message', channel_type: 'im', subtype: 'message_changed' }],
    ['talk in a channel', { type: 'message', channel_type: 'channel' }],
    ['a reaction', { type: 'reaction_added' }],
    ['a mention without words', { text: '<@UBOT>  ' }],
    ['a message without a user', { user: undefined }],
  ])('%s', (_what, change) => {
    const event = { type: 'app_mention', channel: 'C1', user: 'U1', text: '<@UBOT> hi', ts: '1.1' };
    expect(readMessage(event)).toMatchObject({ text: 'hi', thread: '1.1' });
    expect(readMessage({ ...event, ...change })).toBeUndefined();
  });
});

it.each<[string, ReturnType<typeof readAnswer>]>([
  ['approve 01ab9f', { approved: true, code: '01ab9f' }],
  ['YES!', { approved: true, code: undefined }],
  ['approve 01ab9f but only 20', undefined],
  ['yes, but only 20', undefined],
  ['no', { approved: false, code: undefined }],
  ['Refuse 01AB9F, it is\ntoo much', { approved: false, code: '01ab9f', reason: 'it is\ntoo much' }],
  ['nothing else', undefined],
])('%j answers a question for approval as %j', (text, answer) => {
  expect(readAnswer(text)).toEqual(answer);
});

it('a long text is split without losing a word', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.integer({ min: 4, max: 50 }), (text, max) => {
      const parts = splitText(text, max);
      expect(parts.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(max);
      for (const part of parts) expect(part.isWellFormed()).toBe(text.isWellFormed());
    }),
  );
});

it('bodies of other routes are JSON as ever', async () => {
  const user = await agent.createUser();
  expect((await user.send('POST', '/sessions', { title: 'Mangoes' })).body.title).toBe('Mangoes');
});

it('without its secrets there is no such route', async () => {
  await using alone = await startTestAgent({ env: { SLACK_SIGNING_SECRET: secret } });
  const response = await fetch(`${alone.url}/webhooks/slack`, { method: 'POST' });
  expect(response.status).toBe(404);
});
