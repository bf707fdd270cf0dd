// Programs in the database: drafted, checked, published, rolled back and withdrawn by operators, served by every instance.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addOperator } from '@palaver/service-kit/internal';
import { createTempDir, engines, makeWorkbook, waitFor } from '@palaver/test-kit';
import { startTcpProxy } from '@palaver/test-kit/servers';
import { describe, expect, test } from 'vitest';
import { bundledProgram } from '../src/catalog/bundled-program.ts';
import { listVersions, publishFolder, rollBack, withdrawProgram } from '../src/commands/publish-programs.ts';
import { largeProgram } from './large-program.ts';
import { createOperator, files, rename } from './program-operator.ts';
import { startService, type TestService, testKey } from './service-fixture.ts';

const dial = (service: TestService, id: string, text = '') => service.say(id, text, { serviceCode: '*384*5#' });

describe.each(engines)('on %s', (engine) => {
  test('a program is listed by the title of its draft, else by that of the version in use', async () => {
    await using service = await startService(engine);
    const ask = createOperator(service);
    const titled = (title: string, rest = files('One')['program.yaml']) => ({
      ...files('One'),
      'program.yaml': `title: ${title}\n${rest}`,
    });
    const listed = async () => {
      const programs = (await ask('GET', '')).body.programs as unknown as { name: string; title: string | null }[];
      return programs.map(({ name, title }) => [name, title]);
    };
    // A draft is listed even if it cannot run.
    await ask('PUT', '/small/draft', { files: titled('"Maji: \\u00e9"', 'name: ['), revision: 0 });
    expect(await listed()).toEqual([
      ['palaver', null],
      ['small', 'Maji: é'],
    ]);
    await ask('PUT', '/small/draft', { files: titled('Water points'), revision: 1 });
    await ask('POST', '/small/publish', {});
    await ask('PUT', '/small/draft', { files: files('One'), revision: 2 });
    expect((await listed())[1]).toEqual(['small', 'Water points']);
    await ask('PUT', '/small/draft', { files: titled('Wells'), revision: 3 });
    expect((await listed())[1]).toEqual(['small', 'Wells']);
    await ask('DELETE', '/small/draft?revision=4');
    expect((await listed())[1]).toEqual(['small', 'Water points']);
  });

  test('a draft becomes a version that all instances serve; sessions stay on theirs; the way back is one call', async () => {
    await using service = await startService(engine);
    await using other = await service.startAnother();
    const ask = createOperator(service);
    const serves = (title: string) =>
      waitFor(`${title} at the other instance`, async () =>
        (await dial(other, `o${Math.random()}`)).startsWith(`CON ${title}`),
      );
    expect(await ask('GET', '/small/draft')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });

    const faulty = { ...files('One'), 'program.yaml': files('One')['program.yaml'].replace('to: page', 'to: pag') };
    expect(await ask('PUT', '/small/draft', { files: faulty, revision: 0 })).toEqual({
      status: 200,
      body: { revision: 1 },
    });
    const fault = {
      file: 'program.yaml',
      line: 7,
      state: 'home',
      message: expect.stringContaining('did you mean page?'),
    };
    expect((await ask('POST', '/small/check')).body).toMatchObject({
      ok: false,
      faults: expect.arrayContaining([fault]),
    });
    expect(await ask('POST', '/small/publish', {})).toMatchObject({
      status: 400,
      body: { faults: expect.arrayContaining([fault]) },
    });
    expect(await dial(service, 'before')).toContain('Welcome to Palaver');

    // Someone else has saved meanwhile.
    expect((await ask('PUT', '/small/draft', { files: files('One'), revision: 0 })).status).toBe(409);
    expect((await ask('PUT', '/small/draft', { files: files('One'), revision: 1 })).body).toEqual({ revision: 2 });
    expect((await ask('POST', '/small/publish', { revision: 1 })).status).toBe(409);
    const first = await ask('POST', '/small/publish', { revision: 2, note: 'the first' });
    expect(first).toMatchObject({ status: 200, body: { version: expect.stringMatching(/^small@[0-9a-f]{12}$/) } });
    expect(await dial(service, 'a')).toMatch(/^CON One\n/);
    await serves('One');

    await ask('PUT', '/small/draft', { files: files('Two'), revision: 2 });
    const second = await ask('POST', '/small/publish');
    await serves('Two');
    expect(await dial(other, 'a', '1')).toMatch(/^CON The page of One\n/);
    const { body: listed } = await ask('GET', '/small/versions');
    expect(listed.versions).toMatchObject([
      { version: second.body.version, isCurrent: true, note: null, publishedBy: 'operator:loopback' },
      { version: first.body.version, isCurrent: false, note: 'the first' },
    ]);
    expect((await ask('GET', `/small/versions/${first.body.version}`)).body.files).toEqual(files('One'));

    expect((await ask('POST', '/small/rollback', { version: 'small@000000000000' })).status).toBe(404);
    expect((await ask('POST', '/small/rollback', { version: first.body.version })).status).toBe(200);
    expect(await dial(service, 'b')).toMatch(/^CON One\n/);
    await serves('One');
    // A later start serves it too.
    await using later = await service.startAnother();
    expect(await dial(later, 'c')).toMatch(/^CON One\n/);
    expect((await ask('GET', '')).body.programs).toMatchObject([
      { name: 'palaver', isPublished: false },
      { name: 'small', version: first.body.version, codes: ['*384*5#'], isPublished: true, draft: { revision: 3 } },
    ]);

    expect((await ask('POST', '/small/withdraw')).status).toBe(200);
    expect(await dial(service, 'd')).toContain('Welcome to Palaver');
    expect(await dial(service, 'b', '1')).toMatch(/^CON The page of One\n/);
    const audit = (await (await service.get('/api/ussd/audit')).json()) as {
      lines: { action: string; subject: string }[];
    };
    expect(audit.lines.filter(({ action }) => action.startsWith('program.')).map(({ action }) => action)).toEqual([
      'program.withdrawn',
      'program.rolledBack',
      'program.published',
      'program.published',
    ]);
    expect((await ask('DELETE', '/small/draft?revision=3')).status).toBe(200);
    const drafts = await (await service.get('/api/ussd/audit?action=draft.saved')).json();
    expect(drafts).toMatchObject({
      lines: [3, 2, 1].map((revision) => ({ subject: 'small', details: { revision } })),
    });
    const removed = await (await service.get('/api/ussd/audit?action=draft.removed')).json();
    expect(removed).toMatchObject({ lines: [{ actor: 'operator:loopback', subject: 'small' }] });
  });
});

test('callers are answered while a large draft is checked and published', async () => {
  await using service = await startService();
  const ask = createOperator(service);
  const large = { files: largeProgram(1_000) };
  let presses = 0;
  const pressUntil = async <T>(done: Promise<T>): Promise<T> => {
    let isDone = false;
    const watched = done.finally(() => {
      isDone = true;
    });
    for (presses = 0; !isDone; presses++) expect(await service.say(`p${presses}`, '')).toMatch(/^CON Welcome/);
    return watched;
  };
  expect((await pressUntil(ask('POST', '/large/check', large))).body).toMatchObject({ ok: true });
  expect(presses).toBeGreaterThan(5);
  await ask('PUT', '/large/draft', { ...large, revision: 0 });
  expect((await ask('POST', '/large/publish', {})).status).toBe(200);
  expect(await service.say('l', '1*7', { serviceCode: '*384*8#' })).toMatch(/^CON 7 gives 15\n/);
});

test('what is published comes before the folder, and takes no code of another program', async () => {
  await using dir = await createTempDir();
  for (const [name, title] of [
    ['small', 'Folder'],
    ['second', 'Second'],
  ] as const) {
    mkdirSync(join(dir.path, name, 'locales'), { recursive: true });
    const own = rename(files(title, name === 'small' ? '*384*5#' : '*384*6#'), name);
    writeFileSync(join(dir.path, name, 'program.yaml'), own['program.yaml']);
    writeFileSync(join(dir.path, name, 'locales/en.yaml'), own['locales/en.yaml']);
  }
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  const ask = createOperator(service);
  // Without a draft, the editor begins with what is in use.
  const draft = await ask('GET', '/small/draft');
  expect(draft.body).toEqual({ name: 'small', files: files('Folder'), revision: 0, updatedAt: null, updatedBy: null });
  await ask('PUT', '/small/draft', { files: files('Published'), revision: 0 });
  // The draft is tried before anybody dials it.
  expect((await ask('POST', '/small/try', { inputs: ['7', '1'] })).body).toEqual({
    screen: 'The page of Published\n0. Back\n*. Exit',
    ended: false,
    state: 'page',
    language: 'en',
    values: {},
    actions: [],
    serviceCode: '*384*5#',
    exchange: {
      path: '/api/ussd',
      request: {
        contentType: 'application/x-www-form-urlencoded',
        body: 'sessionId=trial-1&phoneNumber=%2B254700000001&serviceCode=*384*5%23&text=7*1',
      },
      reply: { contentType: 'text/plain; charset=utf-8', body: 'CON The page of Published\n0. Back\n*. Exit' },
    },
  });
  const second = { inputs: [], timedOut: ['1'], adapter: 'arkesel', phoneNumber: '+254700000002' };
  expect((await ask('POST', '/small/try', second)).body).toMatchObject({
    state: 'home',
    exchange: { path: '/api/ussd/arkesel', request: { body: expect.stringContaining('"msisdn":"254700000002"') } },
  });
  expect((await ask('POST', '/small/try', { ...second, adapter: 'other' })).status).toBe(400);
  expect(await (await service.get('/api/ussd/sessions')).json()).toMatchObject({ count: 0 });
  await ask('POST', '/small/publish', {});
  expect(await dial(service, 'a')).toMatch(/^CON Published\n/);
  expect((await ask('POST', '/small/check', { files: files('x', '*384*6#') })).body.faults).toMatchObject([
    { message: expect.stringMatching(/^\*384\*6# belongs to second@/) },
  ]);
  expect((await ask('POST', '/second/check', { files: files('x') })).body.faults).toMatchObject([
    { message: 'the program is called second, not small' },
  ]);
  await ask('POST', '/small/withdraw');
  expect(await dial(service, 'b')).toMatch(/^CON Folder\n/);

  // What is withdrawn is out of use, whatever is wrong with other programs.
  const third = rename(files('Third', '*384*7#'), 'third');
  await ask('PUT', '/third/draft', { files: third, revision: 0 });
  await ask('POST', '/third/publish', {});
  expect(await service.say('c', '', { serviceCode: '*384*7#' })).toMatch(/^CON Third\n/);
  writeFileSync(join(dir.path, 'second/program.yaml'), 'name: second\nstates: 5\n');
  await ask('POST', '/third/withdraw');
  expect(await service.say('d', '', { serviceCode: '*384*7#' })).toMatch(/^END /);
  expect(await service.say('e', '', { serviceCode: '*384*6#' })).toMatch(/^CON Second\n/);
});

test('a published program for every other code stops no later start with the bundled menu', async () => {
  await using dir = await createTempDir();
  const folder = join(dir.path, 'programs/second');
  mkdirSync(join(folder, 'locales'), { recursive: true });
  const write = (own: Record<string, string>) => {
    for (const [path, text] of Object.entries(own)) writeFileSync(join(folder, path), text);
  };
  write(rename(files('Second', '*384*6#'), 'second'));
  await using service = await startService('sqlite', { USSD_PROGRAMS: join(dir.path, 'programs') });
  const ask = createOperator(service);
  const { 'program.yaml': program, ...texts } = files('Everywhere');
  const everywhere = { 'program.yaml': program.replace(/codes: .*\n/, ''), ...texts };
  await ask('PUT', '/small/draft', { files: everywhere, revision: 0 });
  expect((await ask('POST', '/small/publish', {})).status).toBe(200);
  await using later = await service.startAnother({ USSD_PROGRAMS: bundledProgram });
  expect(await dial(later, 'a')).toMatch(/^CON Everywhere\n/);
});

test('production takes no program into use whose messages nobody would get', async () => {
  await using dir = await createTempDir();
  const own = files('One');
  const sending = {
    ...own,
    'program.yaml':
      own['program.yaml'].replace('to: page }', 'to: receipt }') +
      '  receipt: { kind: action, sms: { text: home.page }, outcomes: { queued: page, refused: page } }\n',
  };
  const key = { PIN_ENCRYPTION_KEY: '9f3c71e5a8d02b64'.repeat(4) };
  const token = 'the-operator-token';
  await using service = await startService('sqlite', { NODE_ENV: 'production', OPERATOR_TOKEN: token, ...key });
  const ask = createOperator(service, token);
  const fault = {
    file: 'program.yaml',
    message: expect.stringContaining('production needs an SMS_PROVIDER other than file'),
  };
  await ask('PUT', '/small/draft', { files: sending, revision: 0 });
  expect((await ask('POST', '/small/check')).body).toMatchObject({ ok: false, faults: [fault] });
  expect(await ask('POST', '/small/publish', {})).toMatchObject({ status: 400, body: { faults: [fault] } });
  // Published from a machine with other variables, it is left out, and stops no later start.
  const folder = join(dir.path, 'small');
  mkdirSync(join(folder, 'locales'), { recursive: true });
  for (const [path, text] of Object.entries(sending)) writeFileSync(join(folder, path), text);
  await publishFolder({ DATABASE_URL: service.databaseUrl, DATA_DIR: dir.path, ...key }, { folder });
  await using later = await service.startAnother();
  expect(await dial(later, 'a')).toContain('Welcome to Palaver');
});

test('an instance that loses its database while others publish serves what was published once it is back', async () => {
  await using service = await startService('postgres');
  const url = new URL(service.databaseUrl);
  await using proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  await using other = await service.startAnother({ DATABASE_URL: url.href });
  expect(await dial(other, 'a')).toContain('Welcome to Palaver');
  proxy.cut();
  await waitFor('the fault', async () => (await other.get('/health')).status === 503);
  const ask = createOperator(service);
  await ask('PUT', '/small/draft', { files: files('One'), revision: 0 });
  expect((await ask('POST', '/small/publish', {})).status).toBe(200);
  proxy.restore();
  await waitFor('the program', async () => (await dial(other, `o${Math.random()}`)).startsWith('CON One'));
  // It publishes itself, too.
  const back = createOperator(other);
  await back('PUT', '/small/draft', { files: files('Two'), revision: 1 });
  expect((await back('POST', '/small/publish', {})).status).toBe(200);
  expect(await dial(other, 'b')).toMatch(/^CON Two\n/);
});

test('viewers read, operators draft, admins publish; nobody writes where programs are read-only, or what is no program', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  const tokens = (['viewer', 'operator', 'admin'] as const).map((role) => addOperator(file, { name: role, role }));
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  const [viewer, operator, admin] = tokens.map((token) => createOperator(service, token)) as ReturnType<
    typeof createOperator
  >[];
  const draft = { files: files('One'), revision: 0 };
  expect((await createOperator(service)('GET', '')).status).toBe(401);
  expect(await viewer?.('GET', '')).toMatchObject({ status: 200, body: { readOnly: false, role: 'viewer' } });
  expect((await viewer?.('POST', '/small/try', { inputs: [] }))?.status).toBe(403);
  expect((await viewer?.('PUT', '/small/draft', draft))?.status).toBe(403);
  expect((await operator?.('PUT', '/small/draft', draft))?.status).toBe(200);
  expect((await operator?.('POST', '/small/publish', {}))?.status).toBe(403);
  expect((await admin?.('POST', '/small/publish', {}))?.status).toBe(200);
  for (const wrong of [
    { '../program.yaml': 'x' },
    { 'forms/form.xlsx': 'x' },
    { 'locales/a/b.yaml': 'x' },
    { 'program.yaml': 'x'.repeat(2_000_001) },
    Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`a${i}.yaml`, 'x'.repeat(1_700_000)])),
    Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`data/${i}.csv`, 'a'])),
    {},
  ])
    expect((await operator?.('PUT', '/small/draft', { files: wrong, revision: 1 }))?.status).toBe(400);
  expect((await admin?.('GET', '/Small/draft'))?.status).toBe(400);

  await using readOnly = await service.startAnother({ PROGRAMS_READONLY: 'true' });
  const fixed = createOperator(readOnly, tokens[2]);
  for (const [method, path, body] of [
    ['PUT', '/small/draft', draft],
    ['DELETE', '/small/draft?revision=1', undefined],
    ['POST', '/small/publish', {}],
    ['POST', '/small/withdraw', undefined],
  ] as const)
    expect(await fixed(method, path, body)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('PROGRAMS_READONLY') },
    });
  expect((await fixed('POST', '/small/check', { files: files('One') })).body).toMatchObject({ ok: true });
});

test('an XLSForm is converted for a draft, by operators, and what cannot be is refused with its reason', async () => {
  await using dir = await createTempDir();
  const operators = join(dir.path, 'operators.json');
  const [viewer, operator] = (['viewer', 'operator'] as const).map((role) =>
    addOperator(operators, { name: role, role }),
  );
  await using service = await startService('sqlite', { OPERATORS_FILE: operators });
  const convert = (body: string | Uint8Array<ArrayBuffer>, { token = operator, file = 'plot.xlsx' } = {}) =>
    fetch(`${service.url}/api/ussd/programs/small/convert-form?file=${file}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
      body,
    });
  const toForm = (type: string, label = 'Your name?') =>
    makeWorkbook({
      survey: [
        ['type', 'name', 'label'],
        [type, 'name', label],
      ],
    }) as Uint8Array<ArrayBuffer>;
  const converted = await convert(toForm('text'));
  expect(converted.status).toBe(200);
  const { xml } = (await converted.json()) as { xml: string };
  expect(xml).toContain('<data id="plot">');
  expect(xml).toContain('<label>Your name?</label>');
  const refused = await convert('none');
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('not an Excel workbook')]);
  const unknown = await convert(toForm('texxt'));
  expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining('no type \\"texxt\\"')]);
  const large = await convert(toForm('text', 'x'.repeat(2_000_000)));
  expect([large.status, await large.text()]).toEqual([400, expect.stringMatching(/as XML it has 2\d{6} bytes/)]);
  expect((await convert(toForm('text'), { token: viewer })).status).toBe(403);
  for (const file of ['..%2Fplot.xlsx', 'plot.xml', '']) expect((await convert('x', { file })).status).toBe(400);
  expect((await convert('x'.repeat(2_000_001))).status).toBe(413);

  const many = await Promise.all(Array.from({ length: 12 }, (_, i) => convert(toForm('text', `Question ${i}?`))));
  const statuses = many.map(({ status }) => status).sort();
  expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});

test('the commands publish a folder, list its versions, roll back and withdraw', async () => {
  await using dir = await createTempDir();
  const folder = join(dir.path, 'small');
  const write = (title: string) => {
    mkdirSync(join(folder, 'locales'), { recursive: true });
    for (const [path, text] of Object.entries(files(title))) writeFileSync(join(folder, path), text);
  };
  await using service = await startService();
  const env = { DATABASE_URL: service.databaseUrl, DATA_DIR: dir.path, PIN_ENCRYPTION_KEY: testKey };
  const serves = (start: string) =>
    waitFor(start, async () => (await dial(service, `o${Math.random()}`)).startsWith(start));
  write('One');
  const first = await publishFolder(env, { folder, note: 'the first' });
  await serves('CON One');
  write('Two');
  const second = await publishFolder(env, { folder });
  await serves('CON Two');
  expect(await listVersions(env, 'small')).toMatchObject([
    { version: second, isCurrent: true, publishedBy: 'command' },
    { version: first, isCurrent: false, note: 'the first' },
  ]);
  expect(await rollBack(env, 'small')).toBe(first);
  await serves('CON One');
  await expect(rollBack(env, 'small')).rejects.toThrow('There is no earlier version');
  // What was rolled back is not gone back to.
  write('Three');
  await publishFolder(env, { folder });
  expect(await rollBack(env, 'small')).toBe(first);
  await expect(rollBack(env, 'small', 'small@000000000000')).rejects.toThrow('There is no version');
  writeFileSync(join(folder, 'locales/en.yaml'), 'home: {}');
  await expect(publishFolder(env, { folder })).rejects.toThrow(
    `${join(folder, 'program.yaml')}:7: state home: the text home.title is missing in en`,
  );
  renameSync(join(folder, 'locales/en.yaml'), join(folder, 'locales/en.yml'));
  await expect(publishFolder(env, { folder })).rejects.toThrow(join(folder, 'program.yaml'));
  renameSync(join(folder, 'locales/en.yml'), join(folder, 'my texts.yaml'));
  await expect(publishFolder(env, { folder })).rejects.toThrow(`${join(folder, 'my texts.yaml')}: a path such as`);
  rmSync(join(folder, 'my texts.yaml'));
  await expect(withdrawProgram({ ...env, PROGRAMS_READONLY: 'true' }, 'small')).rejects.toThrow('PROGRAMS_READONLY');
  await withdrawProgram(env, 'small');
  await serves('CON Welcome to Palaver');
  write('Three');
  const { 'program.yaml': program } = files('Three');
  writeFileSync(join(folder, 'program.yaml'), program.replace(/codes: .*\n/, ''));
  await expect(publishFolder(env, { folder })).rejects.toThrow('every other code belongs to palaver@');
});
