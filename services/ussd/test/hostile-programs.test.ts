// What operators may send to the routes of programs, beyond what a program of good will needs.
import { ussdReplies } from '@palaver/contract/internal';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { createOperator, files, rename } from './program-operator.ts';
import { startService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const list = `[${Array.from({ length: 100 }, (_, i) => i).join(', ')}]`;
const loop = 'size(l.filter(x, l.exists(y, x == 1000)))';

test('the loops of all inputs that are tried have one budget', async () => {
  await using service = await startService('sqlite');
  const ask = createOperator(service);
  const own = files('One');
  const looping = {
    ...own,
    'program.yaml': `${own['program.yaml'].replace('to: page }', 'to: list }')}
  list: { kind: set, values: { l: "${list}", n: "${loop}" }, to: page }
`,
  };
  expect(await ask('PUT', '/small/draft', { files: looping, revision: 0 })).toMatchObject({ status: 200 });
  expect(await ask('POST', '/small/try', { inputs: ['1'] })).toMatchObject({ status: 200, body: { state: 'page' } });
  const inputs = Array.from({ length: 100 }, (_, i) => (i % 2 ? '0' : '1'));
  expect(await ask('POST', '/small/try', { inputs })).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/^In this program the expression .* takes too long\.$/) },
  });
});

test('the inputs that a caller dials at once have one budget, those that are played again one each', async () => {
  const own = files('One');
  await using dir = await writeProgram({
    ...own,
    'program.yaml': `${own['program.yaml'].replace('to: page }', 'to: list }')}
  list: { kind: set, values: { l: "${list}", n: "${loop}" }, to: page }
`,
  });
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  const code = { serviceCode: '*384*5#' };
  const inputs = Array.from({ length: 13 }, (_, i) => (i % 2 ? '0' : '1'));
  expect(await service.say('dialled', inputs.slice(0, 3).join('*'), code)).toMatch(/^CON The page/);
  expect(await service.say('dialled-at-once', inputs.join('*'), code)).toBe(ussdReplies.unavailable);
  for (const count of inputs.keys()) await service.say('pressed', inputs.slice(0, count).join('*'), code);
  const store = await openStore<UssdTables>(service.databaseUrl);
  await store.db.updateTable('ussd_session').set({ text_hash: 'lost' }).execute();
  await store.close();
  const other = await service.startAnother();
  expect(await other.say('pressed', inputs.join('*'), code)).toMatch(/^CON The page/);
});

describe.each(engines)('programs on %s', (engine) => {
  test('two programs that claim one service code at the same time: one is published', async () => {
    await using service = await startService(engine);
    await using other = await service.startAnother();
    const asks = [createOperator(service), createOperator(other)];
    for (let round = 0; round < 3; round++) {
      const names = [`left${round}`, `right${round}`];
      const published = await Promise.all(
        names.map(async (name, i) => {
          const own = rename(files('One', `*384*5${round}#`), name);
          await asks[i]?.('PUT', `/${name}/draft`, { files: own, revision: 0 });
          return (await asks[i]?.('POST', `/${name}/publish`, {}))?.status ?? 0;
        }),
      );
      expect(published.filter((status) => status === 200)).toHaveLength(1);
      // 400 where the first is in use before the check of the second.
      expect([409, 400]).toContain(published.find((status) => status !== 200));
    }
  });

  test('a draft is only discarded as it was read', async () => {
    await using service = await startService(engine);
    const ask = createOperator(service);
    for (const revision of [0, 1]) await ask('PUT', '/small/draft', { files: files('One'), revision });
    expect((await ask('DELETE', '/small/draft')).status).toBe(400);
    expect((await ask('DELETE', '/small/draft?revision=1')).status).toBe(409);
    expect((await ask('GET', '/small/draft')).body).toMatchObject({ revision: 2, files: files('One') });
    expect((await ask('DELETE', '/small/draft?revision=2')).status).toBe(200);
    expect((await ask('DELETE', '/small/draft?revision=3')).status).toBe(404);
    expect((await ask('PUT', '/small/draft', { files: files('Two'), revision: 3 })).status).toBe(200);
  });

  test('U+0000, which cannot be stored, is refused', async () => {
    await using service = await startService(engine);
    const ask = createOperator(service);
    await ask('PUT', '/small/draft', { files: files('One'), revision: 0 });
    expect((await ask('POST', '/small/publish', { note: 'a\0b' })).status).toBe(400);
    expect((await ask('GET', '/small/stats?state=%00')).status).toBe(400);
    for (const path of ['audit?actor=%00', 'audit?subject=%00', 'records/a%00/b', 'submissions?formId=%00'])
      expect([path, (await service.get(`/api/ussd/${path}`)).status]).toEqual([path, 400]);
    for (const path of ['claims/a%00b/retry', 'submissions/a%00b'])
      expect([400, 404]).toContain((await fetch(`${service.url}/api/ussd/${path}`, { method: 'POST' })).status);
  });
});
