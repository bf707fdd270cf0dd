// The network to PostgreSQL breaks after a commit was sent and before its reply came: nobody can know whether it counts.
import { createTestDatabase, engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { startCommitCutter } from './commit-cutter.ts';
import { register, startService, type TestService } from './service-fixture.ts';

async function listReferences(service: TestService): Promise<string[]> {
  const { reports } = (await (await service.get('/api/ussd/reports')).json()) as { reports: { reference: string }[] };
  return reports.map(({ reference }) => reference);
}

const referenceIn = (reply: string) => /Reference: (\w{9})/.exec(reply)?.[1];

test.each([
  ['of the report', /\bcommit\b/i],
  // The session is one statement, known by its parameter.
  ['of the session', /"text_hash"/],
])('PostgreSQL: a caller whose commit %s was cut reads the reference of the one report', async (_, pattern) => {
  await using database = await createTestDatabase('postgres');
  await using cutter = await startCommitCutter(new URL(database.url));
  await using service = await startService('sqlite', { DATABASE_URL: cutter.url });
  await register(service, 'r');
  await service.say('s', '3*1*12');
  cutter.arm(pattern);
  const reply = await service.say('s', '3*1*12*4071');
  expect(cutter.cuts()).toBe(1);
  expect(await listReferences(service)).toEqual([referenceIn(reply)]);
  expect(await service.say('s', '3*1*12*4071')).toBe(reply);
});

describe.each(engines)('the same report again on %s', (engine) => {
  test('within minutes reads that it is filed, with its reference, in the language of the caller', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    const reference = referenceIn(await service.say('a', '3*1*12*4071'));
    const again = await service.say('b', '3*1*12*4071');
    expect(again).toMatch(new RegExp(`^CON Already filed, reference ${reference}\\.\n`));
    await service.say('l', '2*3*2');
    expect(await service.say('c', '3*1*12*4071')).toMatch(
      new RegExp(`^CON Déjà enregistré, référence ${reference}\\.`),
    );
    expect(await listReferences(service)).toHaveLength(1);
    // Another amount, another activity and another number are other reports.
    await service.say('d', '3*1*13*4071');
    await service.say('e', '3*2*12*4071');
    await register(service, 'f', { phoneNumber: '+254700000002' });
    await service.say('g', '3*1*12*4071', { phoneNumber: '+254700000002' });
    expect(await listReferences(service)).toHaveLength(4);
  });

  test('is a new one where USSD_REPEAT_MINUTES is 0', async () => {
    await using service = await startService(engine, { USSD_REPEAT_MINUTES: '0' });
    await register(service, 'r');
    for (const id of ['a', 'b']) expect(await service.say(id, '3*1*12*4071')).toMatch(/^CON Your report is filed/);
    expect(await listReferences(service)).toHaveLength(2);
  });
});
