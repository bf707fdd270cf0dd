// A telecom gateway's network delivers a key press a second time, after later ones.
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { register, startService } from './service-fixture.ts';

describe.each(engines)('a key press that comes again after later ones, on %s', (engine) => {
  test('does not offer a finished form once more', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    for (const text of ['', '3', '3*2', '3*2*30']) await service.say('a', text);
    expect(await service.say('a', '3*2*30*4071')).toContain('Your report is filed');
    expect(await service.say('a', '3*2*30')).toContain('Enter your PIN');
    expect(await service.say('b', '')).not.toContain('Continue');
    // The call itself continues where it is, and files nothing again.
    expect(await service.say('a', '3*2*30*4071*0')).toContain('Welcome');
    const { reports } = (await (await service.get('/api/ussd/reports')).json()) as { reports: unknown[] };
    expect(reports).toHaveLength(1);
  });

  test('does not open a session that has ended', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    await service.say('a', '3*2*30');
    const closing = await service.say('a', '3*2*30*4071**');
    expect(closing).toMatch(/^END /);
    expect(await service.say('a', '3*2*30')).toContain('Enter your PIN');
    expect(await service.say('a', '3*2*30*4071**')).toBe(closing);
    const { activeSessions } = (await (await service.get('/api/ussd/sessions')).json()) as { activeSessions: string[] };
    expect(activeSessions).not.toContain('a');
    expect(await service.say('b', '')).not.toContain('Continue');
  });
});
