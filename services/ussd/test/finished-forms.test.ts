// What is offered at the next dial, where a call ends at the exit: by the caller's `*`, or because the program leads there.
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { register, startService, type TestService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const program = {
  'program.yaml': `name: order
codes: ["*384*7#"]
extends: palaver
languages: [en]
start: home
exit: bye
records: { order: { crop: text, bags: integer } }
states:
  home: { kind: menu, text: t.home, options: [{ text: t.order, to: crop }] }
  crop: { kind: prompt, text: t.crop, type: text, save: crop, to: bags }
  bags: { kind: prompt, text: t.bags, type: integer, save: bags, to: keep }
  keep: { kind: action, store: order, fields: { crop: crop, bags: bags }, outcomes: { stored: bye } }
  bye: { kind: end, text: t.bye }
`,
  'locales/en.yaml': 't: { home: Market, order: Order, crop: Crop?, bags: Bags?, bye: Bye }\n',
};

const dial = (service: TestService, id: string, text: string) => service.say(id, text, { serviceCode: '*384*7#' });

describe.each(engines)('a form on %s', (engine) => {
  test('that is finished at the exit is not offered again', async () => {
    await using dir = await writeProgram(program);
    await using service = await startService(engine, { USSD_PROGRAMS: dir.path });
    for (const text of ['', '1', '1*maize']) await dial(service, 'a', text);
    expect(await dial(service, 'b', '')).toContain('Continue');
    expect(await dial(service, 'a', '1*maize*5')).toBe('END Bye');
    expect(await dial(service, 'c', '')).not.toContain('Continue');
  });

  test('that is left by * is offered again, also where * comes with an answer', async () => {
    await using dir = await writeProgram(program);
    await using service = await startService(engine, { USSD_PROGRAMS: dir.path });
    for (const text of ['', '1', '1*maize', '1*maize**']) await dial(service, 'a', text);
    expect(await dial(service, 'b', '')).toContain('2. Continue');
    expect(await dial(service, 'b', '2')).toContain('Bags?');
    expect(await dial(service, 'b', '2*5')).toBe('END Bye');
    expect(await dial(service, 'c', '')).not.toContain('Continue');
    expect(await dial(service, 'c', '1*beans**')).toBe('END Bye');
    expect(await dial(service, 'd', '')).toContain('2. Continue');
  });

  test('that is finished and left in one request is not offered again', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    await service.say('a', '3*2*30');
    expect(await service.say('a', '3*2*30*4071**')).toMatch(/^END /);
    expect(await service.say('b', '')).not.toContain('Continue');
  });
});
