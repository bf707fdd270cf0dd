import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { agentLimits } from '@palaver/contract';
import { createLogger } from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createTempDir, createTestDatabase, searchDatabase, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createFolderStorage,
  createS3Storage,
  createStaging,
} from '../../agent-plugins/src/attachments/file-storage.ts';
import { createFileStore, type FileDatabase } from '../../agent-plugins/src/attachments/file-store.ts';
import { createFileVault } from '../../agent-plugins/src/attachments/file-vault.ts';
import { createPdf } from './homeserver.ts';
import { type OpenAiServer, say, startOpenAiServer } from './openai-server.ts';
import { type S3Server, startS3Server } from './s3-server.ts';
import { type Reply, request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const noLimits = {
  limits: { filesPerDay: 1e9, bytesPerDay: 1e12, bytesPerClientPerDay: 1e12 },
  referenceOf: (did: string) => did,
};

let model: OpenAiServer;
let bucket: S3Server;
const agents: { name: string; agent: TestAgent; dataDir: string; stored(): Promise<Map<string, Buffer>> }[] = [];
const disposables = new AsyncDisposableStack();

beforeAll(async () => {
  model = disposables.use(await startOpenAiServer(say('Seen.')));
  bucket = disposables.use(await startS3Server());
  for (const name of ['folder', 'bucket']) {
    const dir = disposables.use(await createTempDir());
    const env = {
      DATA_DIR: dir.path,
      LLM_BASE_URL: model.url,
      DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      FILES_BYTES_PER_USER_PER_DAY: String(agentLimits.attachmentBytes + 1000),
      FILES_PER_USER_PER_DAY: '5',
      ...(name === 'bucket' && { FILES_S3_URL: bucket.url }),
    };
    const engine = name === 'bucket' ? 'postgres' : 'sqlite';
    const agent = disposables.use(await startTestAgent({ engine, env }));
    const stored = async () => {
      if (name === 'bucket') return bucket.objects;
      const names = await readdir(join(dir.path, 'files')).catch(() => []);
      return new Map(
        await Promise.all(names.map(async (id) => [id, await readFile(join(dir.path, 'files', id))] as const)),
      );
    };
    agents.push({ name, agent, dataDir: dir.path, stored });
  }
});

afterAll(() => disposables.disposeAsync());

function upload(
  agent: TestAgent,
  user: TestUser,
  bytes: Buffer | string,
  { name = 'notes.txt', type = 'text/plain' } = {},
): Promise<Reply> {
  return request(`${agent.url}/files?filename=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { ...user.headers, 'content-type': type },
    body: new Blob([bytes as Uint8Array<ArrayBuffer>]),
  });
}

const attach = ({ fileId, filename, mimetype }: Record<string, string>) => ({ fileId, filename, mimetype });

test('a file is stored encrypted, reaches the model with its message, and only its owner reads it, as an attachment', async () => {
  for (const { name, agent, stored } of agents) {
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    const page = '<script>alert("Anazebra")</script>';
    const uploaded = await upload(agent, ana, page, { name: 'Ünïted "x".html', type: 'text/html' });
    expect([name, uploaded.status]).toEqual([name, 201]);
    expect(uploaded.body).toMatchObject({ filename: 'Ünïted "x".html', mimetype: 'text/plain', size: page.length });
    const image = (await upload(agent, ana, png, { name: 'a.png', type: 'image/png' })).body;
    const pdf = (await upload(agent, ana, createPdf('Three goats'), { name: 'a.pdf', type: 'application/pdf' })).body;

    const session = await ana.createSession();
    model.requests.length = 0;
    const attachments = [uploaded.body, image, pdf].map(attach);
    expect((await ana.say(session, 'what is this?', { attachments })).status).toBe(200);
    const asked = JSON.stringify(model.requests[0]?.body.messages.at(-1).content);
    expect(asked).toContain('Anazebra');
    expect(asked).toContain('Three goats');
    expect(asked).toContain(png.toString('base64'));
    expect((await ana.messages(session))[0]).toMatchObject({ attachments });
    expect((await ben.say(await ben.createSession(), 'and this?', { attachments })).status).toBe(422);

    const path = `/files/${uploaded.body.fileId}`;
    const read = await ana.send('GET', path);
    expect([read.status, read.body]).toEqual([200, page]);
    expect(read.headers.get('content-type')).toBe('text/plain');
    expect(read.headers.get('x-content-type-options')).toBe('nosniff');
    expect(read.headers.get('content-disposition')).toBe(
      `attachment; filename="_n_ted _x_.html"; filename*=UTF-8''%C3%9Cn%C3%AFted%20%22x%22.html`,
    );
    for (const method of ['GET', 'DELETE']) expect((await ben.send(method, path)).status).toBe(404);
    expect((await request(agent.url + path)).status).toBe(401);

    const bytes = Buffer.concat([...(await stored()).values()]);
    expect(bytes.length).toBeGreaterThan(page.length);
    expect(bytes.includes('Anazebra')).toBe(false);
    expect(await searchDatabase(agent.databaseUrl, ['Ünïted', 'Anazebra'])).toEqual([]);
  }
  expect(bucket.refused).toEqual([]);
});

test('what is too large, too much, empty or of another kind is refused, and nothing of it stays', async () => {
  const [{ agent, stored }] = agents as [(typeof agents)[number]];
  const ana = await agent.createUser();
  const before = (await stored()).size;
  const refusals: [Buffer | string, string, number][] = [
    ['', 'text/plain', 400],
    [Buffer.from([0, 1, 2]), 'application/octet-stream', 415],
    ['a text', 'image/png', 415],
    [Buffer.alloc(agentLimits.attachmentBytes + 1, 'a'), 'text/plain', 413],
    [Buffer.alloc(agentLimits.attachmentBytes + 5_000_000, 'a'), 'text/plain', 413],
  ];
  for (const [bytes, type, status] of refusals)
    expect([type, (await upload(agent, ana, bytes, { type })).status]).toEqual([type, status]);
  expect((await upload(agent, ana, 'x', { name: 'a\nb' })).status).toBe(400);
  expect(await uploadInChunks(agent, ana, agentLimits.attachmentBytes + 1)).toBe(413);
  expect((await request(`${agent.url}/files?filename=a`, { method: 'POST', body: 'a' })).status).toBe(401);

  expect((await upload(agent, ana, Buffer.alloc(agentLimits.attachmentBytes - 100, 'a'))).status).toBe(201);
  expect(await upload(agent, ana, Buffer.alloc(2000, 'a'))).toMatchObject({ status: 429 });
  for (const text of ['a', 'b']) expect((await upload(agent, ana, text)).status).toBe(201);
  const uploads = await Promise.all(Array.from({ length: 3 }, () => upload(agent, ana, 'a')));
  expect(uploads.filter(({ status }) => status === 201)).toHaveLength(2);
  expect(uploads.filter(({ status }) => status === 429)).toHaveLength(1);
  expect((await stored()).size).toBe(before + 5);
  // What was deleted still counts.
  const { fileId } = uploads.find(({ status }) => status === 201)?.body ?? {};
  expect((await ana.send('DELETE', `/files/${fileId}`)).status).toBe(200);
  expect((await upload(agent, ana, 'a')).status).toBe(429);
});

/** Without saying how much it will be. */
function uploadInChunks(agent: TestAgent, user: TestUser, bytes: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${agent.url}/files?filename=big`, { method: 'POST', headers: user.headers }, (reply) => {
      resolve(reply.statusCode);
      sent.destroy();
    });
    sent.on('error', reject);
    for (let left = bytes; left > 0; left -= 1_000_000) sent.write(Buffer.alloc(Math.min(left, 1_000_000), 'a'));
    sent.end();
  });
}

test('files go with their session and their user; what was not sent within a day goes too', async () => {
  for (const { agent, stored } of agents) {
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    const [sent, kept, unsent] = await Promise.all(
      [ana, ana, ben].map(async (user) => (await upload(agent, user, 'Anazebra')).body),
    );
    const [first, second] = [await ana.createSession(), await ana.createSession()];
    await ana.say(first, 'read', { attachments: [attach(sent)] });
    await ana.say(second, 'read', { attachments: [attach(kept)] });
    const { agent_file: exported } = (await ana.send('GET', '/me/export')).body.data;
    expect(exported.map(({ filename }: { filename: string }) => filename)).toEqual(['notes.txt', 'notes.txt']);
    expect(JSON.stringify(exported)).not.toContain('secret');

    await ana.send('DELETE', `/sessions/${first}`);
    expect((await ana.send('GET', `/files/${sent.fileId}`)).status).toBe(404);
    expect((await ana.send('GET', `/files/${kept.fileId}`)).status).toBe(200);
    await ana.send('DELETE', '/me');
    expect(await searchDatabase(agent.databaseUrl, [ana.did])).toEqual([]);

    const store = await openStore<FileDatabase>(agent.databaseUrl);
    const files = createFileStore(store, {
      limits: { filesPerDay: 1, bytesPerDay: 1, bytesPerClientPerDay: 1 },
      referenceOf: (did) => did,
    });
    await files.removeExpired({ retentionDays: 0 }, Date.parse(unsent.createdAt) + 23 * 3_600_000);
    expect((await ben.send('GET', `/files/${unsent.fileId}`)).status).toBe(200);
    await files.removeExpired({ retentionDays: 0 }, Date.parse(unsent.createdAt) + 25 * 3_600_000);
    expect((await ben.send('GET', `/files/${unsent.fileId}`)).status).toBe(404);
    await store.close();

    await agent.restart();
    const gone = [sent, kept, unsent].map(({ fileId }) => fileId);
    await waitFor(
      'the bytes are removed',
      async () => ![...(await stored()).keys()].some((name) => gone.some((id) => name.endsWith(id))),
    );
  }
});

test('a compressed upload is refused', async () => {
  await using agent = await startTestAgent();
  const ana = await agent.createUser();
  const headers = { ...ana.headers, 'content-type': 'text/plain', 'content-encoding': 'gzip' };
  const reply = await request(`${agent.url}/files?filename=a.txt`, { method: 'POST', headers, body: 'a text' });
  expect(reply).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
});

test('bytes that were changed are not given out as the file', async () => {
  const [{ agent, dataDir }] = agents as [(typeof agents)[number]];
  const ana = await agent.createUser();
  const { fileId, ...file } = (await upload(agent, ana, 'Ten goats')).body;
  const path = join(dataDir, 'files', fileId);
  const bytes = await readFile(path);
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  await writeFile(path, bytes);
  await expect(ana.send('GET', `/files/${fileId}`)).rejects.toThrow();
  const reply = await ana.say(await ana.createSession(), 'read', { attachments: [attach({ fileId, ...file })] });
  expect([reply.status, reply.body.code]).toEqual([422, 'ATTACHMENT_FAILED']);
});

test('a client that leaves during an upload is no failure of the service, and a user has at most three under way', async () => {
  const [{ agent, dataDir }] = agents as [(typeof agents)[number]];
  const ana = await agent.createUser();
  const partial = async () => (await readdir(join(dataDir, 'files'))).filter((name) => name.endsWith('.part')).length;
  const under = Array.from({ length: 3 }, () => {
    const sent = httpRequest(`${agent.url}/files?filename=a`, { method: 'POST', headers: ana.headers });
    sent.on('error', () => {}).write('a');
    return sent;
  });
  await waitFor('three uploads are under way', async () => (await partial()) === 3);
  expect(await upload(agent, ana, 'a')).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  const logged = agent.log().length;
  for (const sent of under) sent.destroy();
  await waitFor('they are given up', async () => (await partial()) === 0);
  expect((await upload(agent, ana, 'a')).status).toBe(201);
  expect(agent.log().slice(logged)).not.toMatch(/"level":(50|"error")/);
});

test('many users of one address share its limit, and a disk that is almost full takes no more', async () => {
  await using dir = await createTempDir();
  const env = { DATA_DIR: dir.path, LLM_BASE_URL: model.url, FILES_BYTES_PER_USER_PER_DAY: '11' };
  await using agent = await startTestAgent({ engine: 'sqlite', env });
  for (let count = 0; count < 4; count += 1) {
    const user = await agent.createUser();
    expect((await upload(agent, user, 'ten letters')).status).toBe(201);
    await user.send('DELETE', '/me');
  }
  expect(await upload(agent, await agent.createUser(), 'ten letters')).toMatchObject({
    status: 429,
    body: { code: 'LIMIT_REACHED' },
  });

  await using full = await startTestAgent({
    engine: 'sqlite',
    env: { ...env, FILES_MIN_FREE_BYTES: '1000000000000000' },
  });
  const refused = await upload(full, await full.createUser(), 'a');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
});

test('erasing begins no new day of limits for a user', async () => {
  await using dir = await createTempDir();
  const env = {
    DATA_DIR: dir.path,
    LLM_BASE_URL: model.url,
    FILES_BYTES_PER_USER_PER_DAY: '15',
    FILES_PER_USER_PER_DAY: '2',
  };
  await using agent = await startTestAgent({ engine: 'sqlite', env });
  const ana = await agent.createUser();
  expect((await upload(agent, ana, 'ten letters')).status).toBe(201);
  for (let round = 0; round < 2; round += 1) {
    await ana.send('DELETE', '/me');
    expect(await searchDatabase(agent.databaseUrl, [ana.did])).toEqual([]);
    expect(await upload(agent, ana, 'ten letters')).toMatchObject({ status: 429, body: { code: 'LIMIT_REACHED' } });
  }
  expect((await upload(agent, ana, 'one')).status).toBe(201);
  expect((await upload(agent, ana, 'two')).body.code).toBe('LIMIT_REACHED');
});

test('slow uploads take the space that has arrived, so that others can upload; no upload fills the disk', async () => {
  await using dir = await createTempDir();
  await using database = await createTestDatabase('sqlite');
  const store = await openStore<FileDatabase>(database.url);
  const folder = join(dir.path, 'files');
  // A disk of 30 MB, of which 2 MB stay free.
  const written = async () => {
    const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  };
  const staging = createStaging(folder);
  await staging.freeBytes();
  const vault = createFileVault({
    files: { ...createFileStore(store, noLimits), checkLimits: async () => {}, add: async () => {} },
    storage: createFolderStorage(folder),
    staging: { ...staging, freeBytes: async () => 30_000_000 - (await written()) },
    rules: { retentionDays: 0 },
    minFreeBytes: 2_000_000,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  const start = (number: number, client: string, body: Readable, length = 0) =>
    vault.upload({ userDid: `did:key:z${number}`, client, filename: 'f.txt', declared: 'text/plain', body, length });
  const slow = Array.from({ length: 24 }, () => new PassThrough());
  const uploads = slow.map((body, index) => start(index, `address ${index % 2}`, body, 25_000_000));
  for (const body of slow) body.write('slowly ');
  await waitFor('the slow uploads to begin', async () => (await readdir(folder)).length === slow.length);
  expect(await start(100, 'another', Readable.from([Buffer.from('quick')]))).toMatchObject({ size: 5 });
  // One address has so many at once, whatever keys it makes.
  await expect(start(101, 'address 0', Readable.from([Buffer.from('x')]))).rejects.toMatchObject({
    code: 'RATE_LIMITED',
  });
  // Whatever length was given: what does not fit is refused while it arrives.
  const piece = Buffer.alloc(500_000, 'a');
  const fill = () => start(102, 'another', Readable.from(Array.from({ length: 40 }, () => piece)));
  expect(await fill()).toMatchObject({ size: 20_000_000 });
  await expect(fill()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await written()).toBeLessThan(29_500_000);
  for (const body of slow) body.end('done');
  expect(await Promise.all(uploads)).toHaveLength(slow.length);
  await store.close();
});

test('a file is attached once to a message', async () => {
  const [{ agent }] = agents as [(typeof agents)[number]];
  const ana = await agent.createUser();
  const file = attach((await upload(agent, ana, 'Ten goats')).body);
  const reply = await ana.say(await ana.createSession(), 'read', { attachments: [file, file] });
  expect([reply.status, reply.body.code]).toEqual([422, 'ATTACHMENT_FAILED']);
});

test('a file that is too large for its message is not opened, and all bytes that nobody can read go in one sweep', async () => {
  await using dir = await createTempDir();
  const folder = join(dir.path, 'files');
  await using agent = await startTestAgent({ engine: 'sqlite', env: { DATA_DIR: dir.path, LLM_BASE_URL: model.url } });
  const ana = await agent.createUser();
  const { fileId } = (await upload(agent, ana, 'Ten goats')).body;
  const store = await openStore<FileDatabase>(agent.databaseUrl);
  const storage = createFolderStorage(folder);
  const opened: string[] = [];
  const vault = createFileVault({
    files: createFileStore(store, {
      limits: { filesPerDay: 1, bytesPerDay: 1, bytesPerClientPerDay: 1 },
      referenceOf: (did) => did,
    }),
    storage: { ...storage, read: (id) => storage.read(id).finally(() => opened.push(id)) },
    staging: createStaging(folder),
    rules: { retentionDays: 0 },
    minFreeBytes: 0,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  const onSize = () => {
    throw new Error('too large');
  };
  await expect(vault.read({ userDid: ana.did, fileId, sessionId: '', onSize })).rejects.toThrow('too large');
  expect(opened).toEqual([]);

  const orphans = Array.from({ length: 250 }, (_, index) => ({ id: `orphan-${index}` }));
  await store.db.insertInto('agent_file_object').values(orphans).execute();
  vault.start();
  const left = () => store.db.selectFrom('agent_file_object').selectAll().execute();
  await waitFor('only the file of Ana is left', async () => (await left()).length === 1);
  await vault.stop();
  await store.close();
});

/** Sends a body a byte at a time until it is whole, or for as long as it is answered. */
async function drip(url: string, headers: Record<string, string>, bytes: number): Promise<number | undefined> {
  const sent = httpRequest(url, { method: 'POST', headers: { ...headers, 'content-length': bytes } });
  const replied = new Promise<number | undefined>((resolve) => {
    sent.on('response', ({ statusCode }) => resolve(statusCode)).on('error', () => resolve(undefined));
  });
  const steps = setInterval(() => {
    sent.write('a');
    bytes -= 1;
    if (bytes === 0) sent.end();
    if (bytes === 0) clearInterval(steps);
  }, 100);
  return replied.finally(() => clearInterval(steps));
}

/** Sends a body a byte at a time to Socket.IO, which refuses it at once, until the server closes the connection. */
async function dripToSocket(url: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {}).resume();
  socket.write('POST /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n');
  const steps = setInterval(() => socket.write('a'), 100);
  await new Promise((resolve) => socket.on('close', resolve));
  clearInterval(steps);
}

test('a slow upload is taken as long as it arrives; one that stops, and any other slow request, is refused', async () => {
  await using dir = await createTempDir();
  const env = { DATA_DIR: dir.path, LLM_BASE_URL: model.url, REQUEST_TIMEOUT_SECONDS: '2' };
  await using agent = await startTestAgent({ engine: 'sqlite', env });
  const ana = await agent.createUser();
  const headers = { ...ana.headers, 'content-type': 'text/plain' };
  const session = await ana.createSession();
  const stopped = httpRequest(`${agent.url}/files?filename=a`, { method: 'POST', headers });
  const refusal = new Promise((resolve) => stopped.on('response', ({ statusCode }) => resolve(statusCode)));
  stopped.on('error', () => {}).write('a');
  const json = { ...ana.headers, 'content-type': 'application/json' };
  const [upload, stoppedUpload, message] = await Promise.all([
    drip(`${agent.url}/files?filename=slow.txt`, headers, 35),
    refusal,
    drip(`${agent.url}/messages/${session}`, json, 200),
    dripToSocket(agent.url),
  ]);
  expect([upload, stoppedUpload]).toEqual([201, 408]);
  // The reset of a connection that still sends may overtake the reply.
  expect([408, undefined]).toContain(message);
  expect((await ana.send('GET', `/messages/${session}`)).body.messages).toEqual([]);
});

test('a bucket that does not answer is given up', async () => {
  await using silent = await startSilentServer();
  const key = { accessKeyId: 'key', secretAccessKey: 'secret', region: 'eu-test-1' };
  const storage = createS3Storage({ address: `${silent.url}/bucket`, ...key }, 50);
  await expect(storage.read('a')).rejects.toThrow();
});

async function startSilentServer() {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
