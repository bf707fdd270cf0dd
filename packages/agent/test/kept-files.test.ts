import { randomBytes } from 'node:crypto';
import { createTestDatabase, engines, searchDatabase } from '@palaver/test-kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Homeserver, matrixToken, startHomeserver } from './homeserver.ts';
import { type OpenAiServer, say, startOpenAiServer } from './openai-server.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const text = 'The harvest was 412 mangoes.';
// A quarter of it is for the texts of earlier files: about 4,000 bytes.
const contextTokens = 4_000;

let home: Homeserver;
let model: OpenAiServer;
beforeEach(async () => {
  home = await startHomeserver();
  model = await startOpenAiServer(say('Seen.'));
});
afterEach(async () => {
  await model[Symbol.asyncDispose]();
  await home.close();
});

const start = (options: { databaseUrl?: string; env?: Record<string, string> } = {}) =>
  startTestAgent({ ...options, env: { LLM_BASE_URL: model.url, MATRIX_ALLOWED_HOSTS: home.host, ...options.env } });

async function begin(agent: TestAgent) {
  const user = await agent.createUser();
  return { user, sessionId: await user.createSession() };
}

interface Sent {
  user: TestUser;
  sessionId: string;
  files?: Record<string, string | Buffer>;
}

/** Sends a message with these files; gives the messages that the model is asked with. */
async function ask({ user, sessionId, files = {} }: Sent): Promise<string> {
  const attachments = Object.entries(files).map(([filename, content]) => {
    const mediaId = filename.replace('.', '-');
    home.media.set(mediaId, Buffer.from(content));
    return { mxcUri: `mxc://home.example/${mediaId}`, filename, mimetype: '' };
  });
  model.requests.length = 0;
  const body = { message: 'what is in my files?', attachments, homeServer: home.url };
  const reply = await user.send('POST', `/messages/${sessionId}`, body, { 'x-matrix-access-token': matrixToken });
  expect(reply.status).toBe(200);
  return JSON.stringify(model.requests[0]?.body.messages);
}

describe.each(engines)('the text of a file on %s', (engine) => {
  test('is there in later turns, after a restart too, and not in what clients list', async () => {
    await using database = await createTestDatabase(engine);
    await using agent = await start({ databaseUrl: database.url });
    const chat = await begin(agent);
    await ask({ ...chat, files: { 'harvest.txt': text } });
    expect(await ask(chat)).toContain(`[File harvest.txt]\\n${text}`);
    await agent.restart();
    expect(await ask(chat)).toContain(`[File harvest.txt]\\n${text}`);
    const listed = JSON.stringify(await chat.user.messages(chat.sessionId));
    expect(listed).toContain('harvest.txt');
    expect(listed).not.toContain('mangoes');
  });

  test('is encrypted where there is a key, and exported', async () => {
    await using database = await createTestDatabase(engine);
    await using agent = await start({
      databaseUrl: database.url,
      env: { DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex') },
    });
    const chat = await begin(agent);
    await ask({ ...chat, files: { 'harvest.txt': text } });
    expect(await searchDatabase(database.url, ['mangoes'])).toEqual([]);
    expect(await ask(chat)).toContain(text);
    expect(JSON.stringify((await chat.user.send('GET', '/me/export')).body)).toContain(text);
  });

  test('goes with its user', async () => {
    await using database = await createTestDatabase(engine);
    await using agent = await start({ databaseUrl: database.url });
    const chat = await begin(agent);
    await ask({ ...chat, files: { 'harvest.txt': text } });
    expect(await searchDatabase(database.url, ['mangoes'])).not.toEqual([]);
    await chat.user.send('DELETE', '/me');
    expect(await searchDatabase(database.url, ['mangoes'])).toEqual([]);
  });
});

describe('what is over the budget', () => {
  test('is named only: one large file', async () => {
    await using agent = await start({ env: { LLM_CONTEXT_TOKENS: String(contextTokens) } });
    const chat = await begin(agent);
    expect(await ask({ ...chat, files: { 'large.txt': 'large '.repeat(1_000), 'small.txt': text } })).toContain(text);
    const asked = await ask(chat);
    expect(asked).toContain('not shown again: large.txt]');
    expect(asked).not.toContain('large large');
    expect(asked).toContain(text);
  });

  test('is named only: the older of two', async () => {
    await using agent = await start({ env: { LLM_CONTEXT_TOKENS: String(contextTokens) } });
    const chat = await begin(agent);
    await ask({ ...chat, files: { 'older.txt': 'older '.repeat(500) } });
    expect(await ask({ ...chat, files: { 'newer.txt': 'newer '.repeat(500) } })).toContain('older older');
    const asked = await ask(chat);
    expect(asked).toContain('not shown again: older.txt]');
    expect(asked).not.toContain('older older');
    expect(asked).toContain('newer newer');
  });

  test('is not stored where it is over 100 kB', async () => {
    await using database = await createTestDatabase('sqlite');
    await using agent = await start({ databaseUrl: database.url });
    const chat = await begin(agent);
    await ask({ ...chat, files: { 'book.txt': 'chapter '.repeat(13_000), 'harvest.txt': text } });
    expect(await searchDatabase(database.url, ['chapter chapter'])).toEqual([]);
    const asked = await ask(chat);
    expect(asked).toContain('not shown again: book.txt]');
    expect(asked).toContain(text);
  });
});

test('an image is named in later turns', async () => {
  await using agent = await start();
  const chat = await begin(agent);
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  expect(await ask({ ...chat, files: { 'photo.png': png } })).toContain('image_url');
  const asked = await ask(chat);
  expect(asked).toContain('not shown again: photo.png]');
  expect(asked).not.toContain('image_url');
});
