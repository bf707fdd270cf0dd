import { expect, test } from 'vitest';
import { attachmentSchema, sendMessageSchema } from './send-message.ts';

const accepts = (change: Record<string, unknown>) => sendMessageSchema.safeParse({ message: 'hi', ...change }).success;
const file = { mxcUri: 'mxc://matrix.example.org/AbC_1-2', filename: 'a.pdf', mimetype: 'application/pdf' };
const tool = { name: 'get_page', description: 'Reads the page', schema: { type: 'object' } };
const invocations = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s__t${index}`, 'AAAA']));

test.each([
  ['model', 'gpt-x/large:free', true],
  ['tools', [{ ...tool, name: 'has space' }], false],
  ['mcpInvocations', invocations(128), true],
  ['mcpInvocations', invocations(129), false],
  ['homeServer', 'https://matrix.example.org', true],
  ['homeServer', 'matrix.example.org:8448', true],
  ['homeServer', 'a b', false],
  ['homeServer', 'a\r\nHost: b', false],
])('%s, case %#', (field, value, expected) => {
  expect(accepts({ [field]: value })).toBe(expected);
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
