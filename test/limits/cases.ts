// What one key, or two hundred, each from an address of its own, may try against the agent's memory.
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDelegation, createInvocation, parseToken, type UcanView } from '@palaver/ucan';
import { leaveConnections, leaveReaders, leaveSockets } from './idle-cases.ts';
import { createSession, eachOf, type Key, nextAddress, range, type World } from './key.ts';

export interface Case {
  /** What is tried. */
  name: string;
  /** Makes what the attack sends; the agent is not asked. */
  prepare?(world: World): Promise<unknown>;
  attack(world: World, prepared: never): Promise<void>;
}

const loopMs = 8_000;
const each = (keys: Key[], count: number) => keys.flatMap((key) => range(count).map((index) => ({ key, index })));

export const cases: Case[] = [
  // What the machine itself takes.
  { name: 'nothing', attack: () => sleep(loopMs) },
  { name: 'tool calls of one id', attack: sendSameCalls },
  { name: 'messages of small values', attack: sendSmallValues },
  { name: 'tokens of small maps', prepare: ({ did, keys }) => mintMaps(did, keys), attack: sendTokens },
  { name: '16 proofs x 26 capabilities', prepare: ({ did, keys }) => mintProofs(did, keys), attack: sendTokens },
  { name: 'files of waiting and queued runs', attack: leaveFilesWaiting },
  { name: 'frames of live and ended runs', attack: leaveFrames },
  { name: 'long sessions', attack: readLongSessions },
  { name: 'unread exports', attack: leaveExportsUnread },
  { name: 'unread lists of tasks', attack: leaveTasksUnread },
  { name: 'idle readers of one run', attack: leaveReaders },
  { name: 'idle sockets', attack: leaveSockets },
  { name: 'connections without credentials', attack: leaveConnections },
  { name: '1,000 delegations', prepare: mintDelegations, attack: readDelegations },
];

/** 300 kB each: refused ones, and ones that servers of others do make. */
async function sendSameCalls({ keys, share }: World): Promise<void> {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"at":"the goats"}' } });
  const ask = { role: 'user', content: 'hello' };
  const one = [{ role: 'assistant', content: null, tool_calls: range(3_400).map(() => call('call_1')) }, ask];
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'seen '.repeat(280) });
  const many = [
    ...range(195).flatMap(() => [
      { role: 'assistant', content: null, tool_calls: range(5).map((at) => call(`call_${at}`)) },
      result('call_0'),
    ]),
    ask,
  ];
  const item = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: `{"at":"${'x'.repeat(500)}"}` };
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'seen' };
  const items = [...range(390).map((at) => (at % 2 ? output : item)), ask];
  const bodies = [
    ['/v1/chat/completions', { messages: one }],
    ['/v1/chat/completions', { messages: many }],
    ['/v1/responses', { input: items }],
  ] as const;
  await eachOf(each(keys, share(60, 3)), keys.length === 1 ? 6 : 100, async ({ key, index }) => {
    const [path, body] = bodies[index % bodies.length] ?? bodies[0];
    await key.send('POST', path, { body });
  });
}

/** One megabyte each of values that take twenty times their text, where a message may bring any; their replies stay unread. */
async function sendSmallValues({ keys, share }: World): Promise<void> {
  const values = range(170_000).map(() => ({}));
  const few = range(15_000).map(() => ({}));
  const message = '/long 400';
  const ask = { role: 'user', content: message };
  const toTools = (of: object[]) => [{ type: 'function', function: { name: 'look', parameters: { of } } }];
  const native = (body: object) => async (key: Key) =>
    [`/messages/${await createSession(key)}`, { message, stream: true, ...body }] as const;
  const bodies: ((key: Key) => Promise<readonly [string, object]>)[] = [
    native({ metadata: { values } }),
    native({ tools: [{ name: 'look', description: '', schema: { few } }] }),
    async () => ['/v1/chat/completions', { messages: [ask], tools: toTools(values), stream: true }],
    async () => ['/v1/chat/completions', { messages: [ask], tools: toTools(few), stream: true }],
    async () => ['/v1/chat/completions', { messages: [{ ...ask, content: 'x'.repeat(500_000) }, ask], stream: true }],
  ];
  const unread: IncomingMessage[] = [];
  await eachOf(each(keys, share(100, 3)), keys.length === 1 ? 20 : 100, async ({ key, index }) => {
    const [path, body] = await (bodies[index % bodies.length] as (typeof bodies)[number])(key);
    const reply = await key.open('POST', path, { body }).catch(() => undefined);
    if (reply) unread.push(reply);
  });
  await sleep(3_000);
  for (const reply of unread) reply.destroy();
}

type Tokens = string[][];

/** Of each key, as large as a token may be: of values of one byte, and of as many values as are read. */
async function mintMaps(audience: string, keys: Key[]): Promise<Tokens> {
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' };
  const mint = async ({ signer: issuer }: Key, facts: Record<string, unknown>[]) =>
    (await createInvocation({ issuer, audience, capability, facts })).serialized;
  const tiny = await mint(keys[0] as Key, [{ maps: range(46_000).map(() => ({})) }]);
  const count = keys.length === 1 ? 150 : 3;
  return Promise.all(
    keys.map(async (key) => {
      const large = range(count).map(() => mint(key, [{ maps: range(450).map(() => ({ a: 'x'.repeat(98) })) }]));
      return [...(await Promise.all(large)), ...range(count).map(() => alter(tiny))];
    }),
  );
}

/** The same length and structure in another text: a verdict on the first says nothing about it. */
function alter(token: string): string {
  const at = token.length - 2_000 - Math.floor(Math.random() * 20_000);
  return token.slice(0, at) + Math.random().toString(36).slice(2, 10).padEnd(8, 'A') + token.slice(at + 8);
}

async function mintProofs(audience: string, keys: Key[]): Promise<Tokens> {
  const count = keys.length === 1 ? 100 : 2;
  const chains = async ({ signer: issuer }: Key, granted: number) => {
    const capabilities = range(granted).map((at) => ({ can: `oracle/part-${at}`, with: 'ixo:oracle' }));
    const proofs = range(16).map(async () => {
      const proof = await createDelegation({ issuer, audience: issuer.did(), capabilities });
      return (await parseToken(proof.serialized)).ok as UcanView;
    });
    return {
      issuer,
      audience,
      capability: { can: 'oracle/part-0', with: 'ixo:oracle' },
      proofs: await Promise.all(proofs),
    };
  };
  return Promise.all(
    keys.map(async (key) => {
      const [refused, taken] = [await chains(key, 26), await chains(key, 7)];
      const minted = range(count).flatMap(() => [createInvocation(refused), createInvocation(taken)]);
      return (await Promise.all(minted)).map(({ serialized }) => serialized);
    }),
  );
}

/** At the agent's own door and at one of the standard doors, which reads a token as either kind. */
async function sendTokens({ keys }: World, tokens: Tokens): Promise<void> {
  await eachOf([...keys.entries()], 100, async ([index, key]) => {
    const own = tokens[index] ?? [];
    await eachOf([...own.entries()], keys.length === 1 ? 8 : 1, async ([at, token]) => {
      const headers = { authorization: `Bearer ${token}` };
      const body = { messages: [{ role: 'user', content: 'hello' }] };
      if (at % 2) await key.send('GET', '/sessions', { headers });
      else await key.send('POST', '/v1/chat/completions', { headers: { ...headers, 'x-auth-type': 'none' }, body });
    });
  });
}

const png = (bytes: number) => Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(bytes, 7)]);

async function upload(key: Key, bytes: Buffer, type = 'image/png'): Promise<object> {
  const headers = { 'content-type': type };
  const { body } = await key.send('POST', '/files?filename=file', { body: bytes, headers });
  return { fileId: body.fileId, filename: 'file', mimetype: type };
}

/** Files of 50 MB for each of 20 approvals; or of 5 MB for each of five approvals of 200 keys; then all are approved at once. */
async function leaveFilesWaiting({ keys, share }: World): Promise<void> {
  const size = share(24_900_000, 5_000_000);
  const file = png(size);
  const waiting: { key: Key; runId: string; approvalId: string }[] = [];
  await eachOf(keys, share(8, 50), async (key) => {
    const attachments = [await upload(key, file)];
    if (keys.length === 1) attachments.push(await upload(key, file));
    const busy = await createSession(key);
    const running = await key.open('POST', `/messages/${busy}`, { body: { message: '/long 800', stream: true } });
    running.resume();
    const queued = range(share(8, 2)).map(() => sendUntilTaken(key, busy, { message: 'look', attachments }));
    await eachOf(range(share(20, 5)), share(4, 1), async () => {
      const sessionId = await createSession(key);
      const reply = await sendUntilTaken(key, sessionId, { message: '/tool report {}', attachments });
      const asked = reply && (await readApproval(reply));
      if (asked) waiting.push({ key, ...asked });
    });
    for (const reply of await Promise.all(queued)) reply?.resume();
  });
  await eachOf(waiting, 50, ({ key, runId, approvalId }) =>
    key.send('POST', `/runs/${runId}/approvals/${approvalId}`, { body: { approved: true } }),
  );
  await sleep(loopMs);
}

/** Again for a while where the agent says that it has no room at the moment. */
async function sendUntilTaken(key: Key, sessionId: string, body: object): Promise<IncomingMessage | undefined> {
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const reply = await key
      .open('POST', `/messages/${sessionId}`, { body: { ...body, stream: true } })
      .catch(() => undefined);
    if (reply === undefined || reply.statusCode === 200) return reply;
    reply.resume();
    await sleep(500);
  }
  return undefined;
}

/** Until the frame that asks; the rest stays unread. */
async function readApproval(reply: IncomingMessage): Promise<{ runId: string; approvalId: string } | undefined> {
  let text = '';
  for await (const chunk of reply.iterator({ destroyOnReturn: false })) {
    text += chunk;
    const [, data] = /event: approval_request\n.*\ndata: (.*)\n\n/.exec(text) ?? [];
    if (!data) continue;
    const { runId, approvalId } = JSON.parse(data);
    reply.destroy();
    return { runId, approvalId };
  }
  return undefined;
}

/** Answers of 200 kB that do not compress, read by nobody; then all of them at once. */
async function leaveFrames({ keys, share }: World): Promise<void> {
  const runs: { key: Key; runId: string }[] = [];
  await eachOf(keys, 20, async (key) => {
    const sessions = await Promise.all(range(share(20, 2)).map(() => createSession(key)));
    await eachOf(range(share(600, 12)), share(20, 2), async (index) => {
      const sessionId = sessions[index % sessions.length];
      const body = { message: '/tool print {"bytes":200000}', stream: true };
      const reply = await key.open('POST', `/messages/${sessionId}`, { body }).catch(() => undefined);
      const runId = String(reply?.headers['x-run-id']);
      if (reply?.statusCode === 200) runs.push({ key, runId });
      reply?.resume();
      await new Promise((resolve) => (reply ? reply.once('close', resolve) : resolve(undefined)));
    });
  });
  const unread = runs.slice(-400).map(({ key, runId }) => key.open('GET', `/runs/${runId}`).catch(() => undefined));
  await Promise.all(unread);
  await sleep(5_000);
  for (const reply of await Promise.all(unread)) reply?.destroy();
}

/** Questions that bring half a megabyte of conversation which nobody is shown; returns their session. */
async function fillSession(key: Key, count: number): Promise<string> {
  const earlier = [
    { role: 'user', content: 'x'.repeat(500_000) },
    { role: 'assistant', content: 'yes' },
  ];
  let previous: string | undefined;
  for (let at = 0; at < count; at += 1) {
    const input = [...earlier, { role: 'user', content: `${'y'.repeat(20_000)} ${at}` }];
    const body = { input, ...(previous && { previous_response_id: previous }) };
    const reply = await key.send('POST', '/v1/responses', { body });
    previous = reply.body.id ?? previous;
  }
  const { body } = await key.send('GET', '/sessions?limit=1');
  return body.sessions?.[0]?.sessionId;
}

async function readLongSessions({ keys, share }: World): Promise<void> {
  const unread: IncomingMessage[] = [];
  await eachOf(keys, keys.length, async (key) => {
    const sessionId = await fillSession(key, share(150, 4));
    for (const path of [`/messages/${sessionId}`, `/sessions/${sessionId}/messages?limit=100`])
      await eachOf(range(share(40, 1)), 40, async () => {
        const reply = await key.open('GET', path).catch(() => undefined);
        if (reply) unread.push(reply);
      });
    const until = Date.now() + loopMs;
    await eachOf(range(share(16, 1)), 16, async (index) => {
      while (Date.now() < until)
        if (index % 4 === 3)
          await key.send('POST', `/messages/${sessionId}`, { body: { message: 'hello', returnAllMessages: true } });
        else await key.send('GET', index % 4 ? `/sessions/${sessionId}/messages?limit=100` : `/messages/${sessionId}`);
    });
  });
  for (const reply of unread) reply.destroy();
}

async function leaveExportsUnread({ keys, share }: World): Promise<void> {
  const unread: IncomingMessage[] = [];
  await eachOf(keys, keys.length, async (key) => {
    await fillSession(key, share(60, 3));
    await eachOf(range(share(100, 3)), 100, async () => {
      const reply = await key.open('GET', '/me/export').catch(() => undefined);
      if (reply) unread.push(reply);
    });
    await eachOf(range(share(20, 1)), 4, () => key.send('GET', '/me/export'));
  });
  await sleep(3_000);
  for (const reply of unread) reply.destroy();
}

async function leaveTasksUnread({ keys, share }: World): Promise<void> {
  const unread: IncomingMessage[] = [];
  const call = (method: string, params: object) => ({ body: { jsonrpc: '2.0', id: 1, method, params } });
  await eachOf(keys, 20, async (key) => {
    for (let at = 0; at < share(20, 4); at += 1) {
      const message = { messageId: `m${at}`, role: 'ROLE_USER', parts: [{ text: 'y'.repeat(31_000) }] };
      await key.send('POST', '/a2a', call('SendMessage', { message }));
    }
    await eachOf(range(share(600, 6)), share(50, 6), async () => {
      const list = call('ListTasks', { includeArtifacts: true, historyLength: 1 });
      const reply = await key.open('POST', '/a2a', list).catch(() => undefined);
      if (reply) unread.push(reply);
    });
  });
  await sleep(3_000);
  for (const reply of unread) reply.destroy();
}

/** As many as one user may have; or of 200 users a few, each nearly as long as a token may be. */
async function mintDelegations({ did: audience, keys, share }: World): Promise<string[][]> {
  const minted: string[][] = [];
  for (const { signer: issuer } of keys) {
    const capabilities = range(share(1, 32)).map((of) => ({
      can: `goat/count-${of}`,
      with: issuer.did(),
      nb: { note: 'x'.repeat(share(300, 1_350)) },
    }));
    const own = range(share(1_000, 15)).map(() => createDelegation({ issuer, audience, capabilities }));
    minted.push((await Promise.all(own)).map(({ serialized }) => serialized));
  }
  return minted;
}

/** From many addresses, since one may have only so many tokens checked in a minute. */
async function readDelegations({ keys, share }: World, tokens: string[][]): Promise<void> {
  await eachOf([...keys.entries()], 100, async ([index, key]) => {
    const own = tokens[index] ?? [];
    await eachOf([...own.entries()], share(8, 1), async ([at, raw]) => {
      const address = keys.length === 1 && at % 20 === 0 ? nextAddress() : key.address;
      await key.send('POST', '/delegation', { body: { raw }, address });
    });
  });
  const until = Date.now() + loopMs;
  await eachOf(keys, keys.length, async (key) => {
    await eachOf(range(share(8, 1)), share(8, 1), async () => {
      while (Date.now() < until) await key.send('GET', '/delegation');
    });
  });
}
