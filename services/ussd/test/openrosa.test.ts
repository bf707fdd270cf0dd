// Forms that come from an OpenRosa server and go back to it, over connections that break.
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createOpenRosaClient, elementsOf, startFetching } from '@palaver/forms/internal';
import { createLogger } from '@palaver/service-kit';
import { countSteps, createTempDir, waitFor } from '@palaver/test-kit';
import { expect, test, vi } from 'vitest';
import { exportSubmissions, listSubmissions, retrySubmissions } from '../src/commands/submissions.ts';
import { formsServerCredentials, formsServerEnv, startOpenRosaServer, surveyProgram } from './openrosa-server.ts';
import { startService, type TestService, testKey } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const short = readFileSync(join(import.meta.dirname, 'forms/short.xml'), 'utf8');

const fillIn = (service: TestService, session: string, name: string) =>
  service.say(session, `1*${name}*3*2*1`, { serviceCode: '*384*9#' });

interface Listed {
  instanceId: string;
  status: string;
  attempts: number;
  fault: string | null;
}

async function list(service: TestService, query = ''): Promise<Listed[]> {
  const { submissions } = (await (await service.get(`/api/ussd/submissions${query}`)).json()) as {
    submissions: Listed[];
  };
  return submissions;
}

test('a submission arrives once in spite of cut connections; a refused one waits for an operator', async () => {
  await using server = await startOpenRosaServer();
  server.forms.set('short', { xml: short, version: '1', media: {} });
  await using dir = await writeProgram(surveyProgram);
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path, ...formsServerEnv(server) });
  // Two instances send, and the first connections break: before the server has it, and after.
  await using other = await service.startAnother({ DATA_DIR: dir.path });
  server.next = ['cut before', 'cut'];
  expect(await fillIn(service, 'a', 'Ana')).toMatch(/^CON Thanks\./);
  await waitFor('the submission', async () => (await list(other))[0]?.status === 'sent');
  expect([...server.stored.values()]).toEqual([expect.stringContaining('<name>Ana</name><people>3</people>')]);
  expect(server.arrived).toBe(2);
  expect((await list(service))[0]).toMatchObject({ attempts: 3, fault: null });

  server.next = [400];
  expect(await fillIn(service, 'b', 'Ben')).toMatch(/^CON Thanks\./);
  await waitFor('the refusal', async () => (await list(service, '?status=failed')).length === 1);
  const [failed] = await list(service, '?status=failed');
  expect(failed?.fault).toMatch(/^status 400/);
  await waitFor('the count of failed submissions', async () =>
    /^ussd_submissions_waiting\{.*"failed".*\} 1$/m.test(await (await service.get('/metrics')).text()),
  );
  const env = { DATABASE_URL: service.databaseUrl, DATA_DIR: dir.path, PIN_ENCRYPTION_KEY: testKey };
  expect(await listSubmissions(env, { status: 'failed', limit: 5 })).toMatchObject({
    forms: expect.arrayContaining([{ formId: 'short', status: 'failed', count: 1 }]),
    submissions: [{ instanceId: failed?.instanceId, fault: expect.stringMatching(/^status 400/) }],
  });
  const pieces: string[] = [];
  for (const format of ['csv', 'json', 'xml'] as const)
    await exportSubmissions(env, { format, status: 'failed' }, (piece) => pieces.push(piece));
  for (const wanted of [/^instanceId,formId/, /^\{"instanceId"/m, /<name>Ben<\/name>/])
    expect(pieces.join('')).toMatch(wanted);
  expect(pieces.join('')).not.toContain('Ana');
  expect(await retrySubmissions(env, 'uuid:none')).toBe(0);
  expect(await retrySubmissions(env, failed?.instanceId)).toBe(1);
  await waitFor('the second submission', async () => (await list(service, '?status=sent')).length === 2);
  expect(server.stored.size).toBe(2);
});

test('a submission is uploaded once where the server wants Digest, Basic or unannounced Basic credentials', async () => {
  await using server = await startOpenRosaServer();
  const xml = '<data><meta><instanceID>uuid:1</instanceID></meta></data>';
  const digest = createOpenRosaClient({ server: server.url, credentials: formsServerCredentials });
  for (let i = 0; i < 2; i++) expect(await digest.send('uuid:1', xml)).toEqual({ ok: true });
  expect([server.uploads, server.arrived]).toEqual([2, 2]);

  for (const challenge of ['Basic realm="forms"', undefined]) {
    const uploads: (string | undefined)[] = [];
    const basic = createServer(async (request, response) => {
      for await (const _ of request);
      const { authorization } = request.headers;
      if (request.method === 'POST') uploads.push(authorization);
      const isRight = authorization === `Basic ${Buffer.from('gateway:open sesame').toString('base64')}`;
      response.writeHead(isRight ? 201 : 401, challenge && !isRight ? { 'www-authenticate': challenge } : {}).end();
    }).listen(0, '127.0.0.1');
    await once(basic, 'listening');
    const url = `http://127.0.0.1:${(basic.address() as AddressInfo).port}`;
    const client = createOpenRosaClient({ server: url, credentials: formsServerCredentials });
    for (let i = 0; i < 2; i++) expect(await client.send('uuid:1', xml)).toEqual({ ok: true });
    expect(uploads).toHaveLength(2);
    const wrong = createOpenRosaClient({ server: url, credentials: { user: 'gateway', password: 'wrong' } });
    expect(await wrong.send('uuid:1', xml)).toMatchObject({ ok: false, refused: false });
    expect(uploads).toHaveLength(3);
    basic.close();
  }
});

test('a form that cannot be kept is fetched again, and holds up no other', async () => {
  await using server = await startOpenRosaServer();
  server.forms.set('short', { xml: short, version: '1', media: {} });
  server.forms.set('other', { xml: short, version: '1', media: {} });
  await using dir = await createTempDir();
  // Nothing can be written there, as on a full disk.
  mkdirSync(join(dir.path, 'short.xml.new'), { recursive: true });
  let changes = 0;
  const fetching = await startFetching({
    client: createOpenRosaClient({ server: server.url, credentials: formsServerCredentials }),
    folder: dir.path,
    refreshMs: 50,
    logger: createLogger({ name: 'test', level: 'silent' }),
    onChange: () => changes++,
  });
  const paths = () => fetching.files().map(({ path }) => path);
  expect(paths()).toEqual(['forms/server/other.xml']);
  rmdirSync(join(dir.path, 'short.xml.new'));
  await waitFor('the form', () => changes > 0 && existsSync(join(dir.path, 'short.xml')));
  expect(paths().toSorted()).toEqual(['forms/server/other.xml', 'forms/server/short.xml']);
  fetching.stop();
});

test('new versions of forms are fetched with their files, and are there without the server', async () => {
  const server = await startOpenRosaServer();
  const media = { 'towns.csv': 'name,label\na,A\n', 'photo.jpg': 'x' };
  // A form whose address is not the server's keeps no other form from being fetched.
  const elsewhere = '1</version><downloadUrl>http://169.254.169.254/</downloadUrl><version>';
  server.forms.set('elsewhere', { xml: short, version: elsewhere, media: {} });
  server.forms.set('short', { xml: short, version: '1', media });
  server.forms.set('../../etc/passwd', { xml: short, version: '1', media: {} });
  await using dir = await createTempDir();
  const client = createOpenRosaClient({ server: server.url, credentials: formsServerCredentials, timeoutMs: 20_000 });
  let changes = 0;
  const options = { client, folder: dir.path, refreshMs: 50, logger: createLogger({ name: 'test', level: 'silent' }) };
  const first = await startFetching({ ...options, onChange: () => changes++ });
  const pathsOf = (forms: typeof first) => forms.files().map(({ path }) => path);
  expect(pathsOf(first)).toEqual(['forms/server/short.xml', 'forms/server/short/towns.csv']);
  expect(statSync(join(dir.path, 'short/towns.csv')).mode & 0o777).toBe(0o600);
  server.forms.set('short', { xml: short.replace('Your name?', 'Your full name?'), version: '2', media });
  await waitFor('the new version', () => changes > 0);
  first.stop();
  await server[Symbol.asyncDispose]();
  const later = await startFetching({ ...options, refreshMs: 60_000, onChange: () => {} });
  later.stop();
  expect(pathsOf(later)).toEqual(['forms/server/short.xml', 'forms/server/short/towns.csv']);
  expect(later.files()[0]?.text).toContain('Your full name?');
  expect(changes).toBe(1);
});

test('a password is not sent unasked where others could read it', async () => {
  const asked: RequestInit[] = [];
  const answer = async (_: unknown, init: RequestInit = {}) => {
    asked.push(init);
    return new Response('', { status: 401 });
  };
  vi.stubGlobal('fetch', answer);
  try {
    const client = createOpenRosaClient({ server: 'http://forms.example', credentials: formsServerCredentials });
    expect(await client.send('uuid:1', '<data/>')).toMatchObject({ ok: false, refused: false });
    expect(asked.map(({ method, headers }) => [method, new Headers(headers).get('authorization')])).toEqual([
      ['HEAD', null],
      ['POST', null],
    ]);
  } finally {
    vi.unstubAllGlobals();
  }
});

test('a list of openings alone is read once, and what closes nothing is no element', () => {
  const steps = (count: number) => countSteps(() => elementsOf('<xform>'.repeat(count), 'xform'));
  expect(steps(20_000)).toBeLessThan(2.5 * steps(10_000));
  expect(elementsOf('</xform><xforms><o:xform a="b"> 1 </o:xform><xform>2</xform></xform></xforms>', 'xform')).toEqual([
    'a="b"> 1 ',
    '2',
  ]);
});

test.each([
  ['asks for Basic authentication', { 'www-authenticate': 'Basic realm="forms", charset="UTF-8"' }],
  ['does not say what it takes, such as ODK Central,', {}],
])('a server that %s gets it, in UTF-8, once it has refused', async (_, challenge) => {
  const given: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    given.push(request.headers.authorization);
    request.resume();
    if (request.headers.authorization === undefined) response.writeHead(401, challenge).end();
    else response.writeHead(201).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  await using _closed = { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createOpenRosaClient({ server: url, credentials: { user: 'gâteway', password: 'open: sesame' } });
  expect(await client.send('uuid:1', '<data/>')).toEqual({ ok: true });
  const encoded = Buffer.from('gâteway:open: sesame').toString('base64');
  expect(given.filter((header) => header !== undefined)).toEqual(expect.arrayContaining([`Basic ${encoded}`]));
  expect(new Set(given)).toEqual(new Set([undefined, `Basic ${encoded}`]));
});
