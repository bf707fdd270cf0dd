import { expect, test } from 'vitest';
import { messagePageSchema, messageSchema, sendMessageReplySchema } from './messages.ts';

const human = {
  id: 'm1',
  type: 'human',
  content: 'Look',
  createdAt: '2026-01-02T03:04:05.678Z',
  status: 'complete',
  requestId: 'r1',
  attachments: [{ eventId: '$e', filename: 'a.png', mimetype: 'image/png' }],
};
const ai = {
  ...human,
  id: 'm2',
  type: 'ai',
  status: 'aborted',
  attachments: undefined,
  reasoning: 'hm',
  toolCalls: [{ id: 't', name: 'read', args: { a: 1 }, status: 'error', error: 'TOOL_TIMEOUT' }],
  components: [{ componentName: 'Card', args: {}, eventId: 'e' }],
};

test('a message keeps everything the contract names', () => {
  expect(messageSchema.parse(human)).toEqual(human);
  expect(messageSchema.parse(ai)).toEqual(ai);
});

test.each([
  { type: 'system' },
  { status: 'streaming' },
  { content: null },
  { createdAt: 'now' },
  { requestId: undefined },
  { toolCalls: [{ id: 't', name: 'read', args: 'x', status: 'done' }] },
])('a message refuses %j', (change) => {
  expect(messageSchema.safeParse({ ...human, ...change }).success).toBe(false);
});

test('pages and replies hold messages', () => {
  const page = { messages: [human], prevCursor: null, nextCursor: 'c', hasOlder: false, hasNewer: true };
  expect(messagePageSchema.parse(page)).toEqual(page);
  const reply = { sessionId: 's', requestId: 'r1', message: ai };
  expect(sendMessageReplySchema.parse(reply)).toEqual(reply);
});
