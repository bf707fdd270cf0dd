import { waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createUser, startAgent, type TestAgent } from '../../test/start-agent.ts';
import { createAgentApi } from './agent-api.ts';
import { type Chat, createChat } from './chat.ts';
import { initialChatState, reduceChat, toChatStatus } from './chat-state.ts';
import { createTransport } from './transport.ts';

let agent: TestAgent;

beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent?.[Symbol.asyncDispose]());

async function openNew(fetch?: typeof globalThis.fetch) {
  const { credentials, transport: plain } = await createUser(agent);
  const transport = createTransport({ baseUrl: agent.url, oracleDid: agent.did, credentials, fetch });
  const { sessionId } = await createAgentApi(plain).createSession();
  const open = () => {
    const chat = createChat({ transport, sessionId, socketUrl: agent.url });
    onTestFinished(chat.start());
    return chat;
  };
  return { chat: open(), open };
}

const textsOf = (chat: Chat) => chat.get().messages.map(({ content }) => content);
const idOf = (chat: Chat, at: number) => chat.get().messages[at]?.id ?? '';

it('edits a question and asks for another answer; the other pages of the session follow', async () => {
  const { chat, open } = await openNew();
  const other = open();
  for (const text of ['/long 2', '/long 3']) await chat.send(text);
  await waitFor('the other page', () => textsOf(other).at(-1) === 'word1 word2 word3');
  const answerId = idOf(chat, 3);
  await chat.regenerate();
  expect(textsOf(chat)).toEqual(['/long 2', 'word1 word2', '/long 3', 'word1 word2 word3']);
  expect(idOf(chat, 3)).not.toBe(answerId);
  await chat.regenerate();
  await chat.refetch();
  expect(chat.get().messages[3]?.earlier).toMatchObject([{ id: answerId }, { content: 'word1 word2 word3' }]);
  await chat.edit(idOf(chat, 0), '/long 1');
  expect(textsOf(chat)).toEqual(['/long 1', 'word1']);
  await chat.refetch();
  expect(textsOf(chat)).toEqual(['/long 1', 'word1']);
  await waitFor('the other page', () => textsOf(other).join() === '/long 1,word1');
});

it('an edit ends the answer under way; one that the agent refuses leaves the conversation as it was', async () => {
  const { chat } = await openNew();
  const long = chat.send('/long 50000');
  await waitFor('words', () => textsOf(chat)[1]?.includes('word3'));
  await chat.edit(idOf(chat, 0), '/long 2');
  await long;
  expect(textsOf(chat)).toEqual(['/long 2', 'word1 word2']);
  expect(toChatStatus(chat.get())).toBe('ready');
  await chat.edit(idOf(chat, 0), 'x'.repeat(40_000));
  expect(chat.get().sendError).toMatchObject({ code: 'VALIDATION_FAILED' });
  await waitFor('the conversation', () => textsOf(chat).slice(0, 2).join() === '/long 2,word1 word2');
  await expect(chat.edit('nothing', 'x')).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
});

it('uploads files with a message and reports how far it is; a stop ends the upload and sends nothing', async () => {
  let isHeld = false;
  let isUploading = false;
  const { chat } = await openNew(async (url, init) => {
    if (isHeld && String(url).includes('/files')) {
      isUploading = true;
      return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
    }
    return globalThis.fetch(url, init);
  });
  const progress = new Set<number | undefined>();
  chat.subscribe(() => progress.add(chat.get().messages[0]?.uploadProgress));
  const files = ['Three goats', 'Two hens'].map((text) => new File([text], `${text}.txt`, { type: 'text/plain' }));
  await chat.send('read them', { attachments: files });
  expect(chat.get().messages.map(({ status }) => status)).toEqual(['complete', 'complete']);
  expect([...progress].some((share) => share !== undefined && share > 0 && share < 1)).toBe(true);
  await chat.refetch();
  const stored = { fileId: expect.any(String), filename: 'Three goats.txt', mimetype: 'text/plain' };
  expect(chat.get().messages[0]?.attachments).toEqual([stored, { ...stored, filename: 'Two hens.txt' }]);
  const [first] = chat.get().messages[0]?.attachments ?? [];
  expect(await (await chat.download(first?.fileId ?? '')).text()).toBe('Three goats');
  await chat.regenerate();
  await chat.refetch();
  expect(chat.get().messages[0]?.attachments).toHaveLength(2);

  await chat.send('a bad one', { attachments: [new Blob([new Uint8Array([0, 1, 2])])] });
  expect(chat.get().sendError).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE', status: 415 });
  isHeld = true;
  const sending = chat.send('with a file', { attachments: [new Blob(['x'])] });
  await waitFor('the upload', () => isUploading);
  await chat.abort();
  await sending;
  expect([toChatStatus(chat.get()), chat.get().sendError]).toEqual(['ready', undefined]);
  await chat.refetch();
  expect(textsOf(chat).filter((text) => text === 'with a file')).toHaveLength(1);
  expect(chat.get().messages.find(({ content }) => content === 'with a file')).toMatchObject({ isStored: false });
});

it('shows what the page sets, until the history is loaded again', async () => {
  const { chat } = await openNew();
  await chat.send('/long 1');
  await chat.refetch();
  chat.setMessages([]);
  expect(textsOf(chat)).toEqual([]);
  await chat.refetch();
  expect(textsOf(chat)).toEqual(['/long 1', 'word1']);
});

it('a history that was asked for before an edit does not bring back what it replaced', () => {
  const message = (id: string, type: 'human' | 'ai') =>
    ({ id, type, content: id, createdAt: '', status: 'complete', requestId: id }) as const;
  const page = {
    messages: [message('one', 'human'), message('two', 'ai')],
    prevCursor: null,
    nextCursor: null,
    hasOlder: false,
    hasNewer: false,
  };
  const loaded = reduceChat(initialChatState, { type: 'loaded', page, older: false });
  const sent = {
    type: 'sent',
    requestId: 'edit',
    messageId: 'edit-id',
    text: 'edited',
    createdAt: '',
    replaces: 'one',
  } as const;
  const late = reduceChat(reduceChat(loaded, sent), { type: 'loaded', page, older: false });
  expect(late.messages.map(({ content }) => content)).toEqual(['edited']);
});
