// Files inside the messages of standard protocols reach the model, and are kept as if they had been uploaded.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenAiServer, say, startOpenAiServer } from './openai-server.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const note = Buffer.from('Twelve goats.').toString('base64');
const dataUrl = (type: string, data: string) => `data:${type};base64,${data}`;
const image = dataUrl('image/png', png);
const text = dataUrl('text/plain', note);
const ask = 'What is this?';

const doors: { name: string; path: string; body(more?: { image?: string }): object; isTemporary?: boolean }[] = [
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    isTemporary: true,
    body: ({ image: url = image } = {}) => ({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: ask },
            { type: 'image_url', image_url: { url } },
            { type: 'file', file: { filename: 'herd.txt', file_data: text } },
          ],
        },
      ],
    }),
  },
  {
    name: 'responses',
    path: '/v1/responses',
    body: ({ image: image_url = image } = {}) => ({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: ask },
            { type: 'input_image', image_url, detail: 'auto' },
            { type: 'input_file', filename: 'herd.txt', file_data: text },
          ],
        },
      ],
    }),
  },
  {
    name: 'the AI SDK',
    path: '/api/chat',
    body: ({ image: url = image } = {}) => ({
      id: crypto.randomUUID(),
      messages: [
        {
          id: 'm',
          role: 'user',
          parts: [
            { type: 'text', text: ask },
            { type: 'file', mediaType: 'image/png', url },
            { type: 'file', mediaType: 'text/plain', filename: 'herd.txt', url: text },
          ],
        },
      ],
    }),
  },
  {
    name: 'AG-UI',
    path: '/agui',
    body: ({ image: given } = {}) => ({
      threadId: crypto.randomUUID(),
      runId: 'r',
      messages: [
        {
          id: 'm',
          role: 'user',
          content: [
            { type: 'text', text: ask },
            given !== undefined
              ? { type: 'image', source: { type: 'url', value: given } }
              : { type: 'image', source: { type: 'data', value: png, mimeType: 'image/png' } },
            { type: 'binary', mimeType: 'text/plain', data: note, filename: 'herd.txt' },
          ],
        },
      ],
    }),
  },
  {
    name: 'A2A',
    path: '/a2a',
    body: ({ image: raw = png } = {}) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: {
        message: {
          messageId: 'm',
          role: 'ROLE_USER',
          parts: [
            { text: ask },
            { raw, mediaType: 'image/png' },
            { raw: note, mediaType: 'text/plain', filename: 'herd.txt' },
          ],
        },
      },
    }),
  },
];

let model: OpenAiServer;
let agent: TestAgent;
let ana: TestUser;
beforeAll(async () => {
  model = await startOpenAiServer(say('Seen.'));
  agent = await startTestAgent({ env: { LLM_BASE_URL: model.url } });
  ana = await agent.createUser();
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

test.each(doors)('files of $name', async ({ path, body, isTemporary }) => {
  const user = await agent.createUser();
  const before = model.requests.length;
  const reply = await user.send('POST', path, body());
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  const asked = JSON.stringify(model.requests[before]?.body.messages.at(-1));
  for (const part of [ask, image, '[File herd.txt]', 'Twelve goats.']) expect(asked).toContain(part);
  const kept = JSON.stringify((await user.send('GET', '/me/export')).body);
  expect(kept.includes('herd.txt')).toBe(!isTemporary);
});

test.each(doors)('files of $name that are elsewhere, or are no files, are refused', async ({ path, body }) => {
  const before = model.requests.length;
  for (const bad of ['https://example.org/cat.png', dataUrl('image/png', note), 'file:///etc/passwd', '']) {
    const { status, body: reply } = await ana.send('POST', path, body({ image: bad }));
    expect(status >= 400 || reply.error !== undefined, `${bad} ${JSON.stringify(reply)}`).toBe(true);
  }
  expect(model.requests.length).toBe(before);
});

test('a file that was uploaded is named by its id; of earlier messages the model reads the names', async () => {
  const { body: file } = await ana.send('POST', '/files?filename=herd.txt', 'Three cows.', {
    'content-type': 'text/plain',
  });
  const content = [{ type: 'file', file: { file_id: file.fileId, filename: 'herd.txt' } }];
  const before = model.requests.length;
  const messages = [{ role: 'user', content }];
  expect((await ana.send('POST', '/v1/chat/completions', { messages })).status).toBe(200);
  expect(JSON.stringify(model.requests[before]?.body.messages.at(-1))).toContain('Three cows.');
  const longer = [...messages, { role: 'assistant', content: 'Seen.' }, { role: 'user', content: 'And now?' }];
  expect((await ana.send('POST', '/v1/chat/completions', { messages: longer })).status).toBe(200);
  const asked = JSON.stringify(model.requests[before + 1]?.body.messages);
  expect(asked).toContain('[File herd.txt]');
  expect(asked).not.toContain('Three cows.');
  const ben = await agent.createUser();
  expect((await ben.send('POST', '/v1/chat/completions', { messages })).status).toBe(422);
});
