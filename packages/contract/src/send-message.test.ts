import { expect, test } from 'vitest';
import { abortSchema, attachmentSchema, sendMessageSchema } from './send-message.ts';

const accepts = (change: Record<string, unknown>) => sendMessageSchema.safeParse({ message: 'hi', ...change }).success;
const file = { mxcUri: 'mxc://matrix.example.org/AbC_1-2', filename: 'a.pdf', mimetype: 'application/pdf' };
const tool = { name: 'get_page', description: 'Reads the page', schema: { type: 'object' } };
const times = <T>(count: number, value: T) => Array.from({ length: count }, () => value);
const invocations = (count: number) => Object.fromEntries(times(count, 0).map((_, index) => [`s__t${index}`, 'AAAA']));

test('defaults are filled in and unknown fields are ignored', () => {
  const body = { message: 'hi', sessionId: 'x', userMatrixOpenIdToken: 'y' };
  expect(sendMessageSchema.parse(body)).toEqual({ message: 'hi', stream: false, returnAllMessages: false });
});

test.each([
  ['message', ' '],
  ['message', 'a'.repeat(32_000)],
  ['message', '🌳'.repeat(32_000)],
  ['message', 'two\nlines\tand a tab'],
  ['stream', true],
  ['returnAllMessages', true],
  ['model', 'gpt-x/large:free'],
  ['tools', []],
  ['tools', times(128, tool)],
  ['agActions', [{ ...tool, hasRender: true }]],
  ['attachments', []],
  ['attachments', times(10, file)],
  ['mcpInvocations', {}],
  ['mcpInvocations', invocations(128)],
  ['timezone', 'Africa/Nairobi'],
  ['timezone', 'UTC'],
  ['homeServer', 'https://matrix.example.org'],
  ['homeServer', 'matrix.example.org:8448'],
  ['metadata', { editorRoomId: '!a:b', nested: { list: [1, null] } }],
])('%s accepts a good value (%#)', (field, value) => {
  expect(accepts({ [field]: value })).toBe(true);
});

test.each([
  ['message', undefined],
  ['message', ''],
  ['message', null],
  ['message', 5],
  ['message', 'a'.repeat(32_001)],
  ['message', '🌳'.repeat(32_001)],
  ['message', 'a\u0000b'],
  ['stream', 'true'],
  ['stream', 1],
  ['returnAllMessages', 'false'],
  ['model', ''],
  ['model', 'm'.repeat(201)],
  ['tools', {}],
  ['tools', [{ ...tool, name: 'has space' }]],
  ['tools', [{ ...tool, name: '' }]],
  ['tools', [{ ...tool, schema: 'string' }]],
  ['tools', [{ ...tool, schema: [] }]],
  ['tools', [{ name: 'x', schema: {} }]],
  ['tools', times(129, tool)],
  ['agActions', [{ ...tool, hasRender: 'yes' }]],
  ['attachments', times(11, file)],
  ['attachments', [{}]],
  ['mcpInvocations', []],
  ['mcpInvocations', { s__t: '' }],
  ['mcpInvocations', { s__t: 5 }],
  ['mcpInvocations', { s__t: 'A'.repeat(65_537) }],
  ['mcpInvocations', invocations(129)],
  ['timezone', 'Mars/Olympus'],
  ['timezone', ''],
  ['timezone', '+02:00'],
  ['homeServer', ''],
  ['homeServer', 'a b'],
  ['homeServer', 'a\r\nHost: b'],
  ['metadata', []],
  ['metadata', 'x'],
])('%s refuses a bad value (%#)', (field, value) => {
  expect(accepts({ [field]: value })).toBe(false);
});

test.each([
  [{ ...file, mxcUri: undefined, eventId: '$abc:example.org' }, true],
  [{ ...file, eventId: '$abc' }, true],
  [{ ...file, mxcUri: 'mxc://[2001:db8::1]:8448/abc' }, true],
  [{ ...file, filename: 'ж'.repeat(255) }, true],
  [{ ...file, mimetype: 'image/svg+xml' }, true],
  [{ ...file, mxcUri: undefined }, false],
  [{ ...file, mxcUri: 'https://example.org/a' }, false],
  [{ ...file, mxcUri: 'mxc://example.org/../secret' }, false],
  [{ ...file, mxcUri: 'mxc://example.org/a?b' }, false],
  [{ ...file, mxcUri: 'mxc://user@example.org/a' }, false],
  [{ ...file, mxcUri: undefined, eventId: 'abc' }, false],
  [{ ...file, mxcUri: undefined, eventId: '$a b' }, false],
  [{ ...file, filename: '' }, false],
  [{ ...file, filename: 'a\nb' }, false],
  [{ ...file, filename: 'a'.repeat(256) }, false],
  [{ ...file, mimetype: 'pdf' }, false],
  [{ ...file, mimetype: 'a/b\r\n' }, false],
])('attachment %j: %s', (attachment, expected) => {
  expect(attachmentSchema.safeParse(attachment).success).toBe(expected);
});

test('an abort names a session', () => {
  expect(abortSchema.safeParse({ sessionId: 'x' }).success).toBe(true);
  for (const body of [{}, { sessionId: '' }, { sessionId: 1 }, null]) {
    expect(abortSchema.safeParse(body).success).toBe(false);
  }
});
