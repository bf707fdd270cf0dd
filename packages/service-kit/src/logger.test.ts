import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';
import { maskPhone, maskText } from './mask.ts';

const run = promisify(execFile);

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ name: 'test', level: 'info', destination: { write: (line: string) => void lines.push(line) } }));
  return lines.join('');
}

test('secrets are hidden by the name of their field, at any depth', () => {
  const text = logged((logger) =>
    logger.info(
      {
        pin: '4821',
        body: { newPin: '4821', list: [{ accessToken: '4821' }] },
        headers: { authorization: '4821', 'x-api-key': '4821' },
        PIN_ENCRYPTION_KEY: '4821',
        kept: 7,
      },
      'x',
    ),
  );
  expect(text).not.toContain('4821');
  expect(JSON.parse(text)).toMatchObject({
    service: 'test',
    level: 'info',
    kept: 7,
    body: { list: [{ accessToken: '[hidden]' }] },
  });
});

test('phone numbers, bearer tokens and passwords in URLs are masked wherever they are', () => {
  const text = logged((logger) => {
    logger
      .child({ phone: '+254712345678' })
      .info({ err: new Error('no account for +254712345678') }, 'dialled by +254712345678');
    logger.info('Authorization: Bearer abc.def+/=; postgres://user:hunter2@db/palaver');
  });
  expect(text).not.toMatch(/5678|abc\.def|hunter2/);
  expect(text).toContain('+25471234****');
  expect(text).toContain('postgres://user:[hidden]@db/palaver');
});

test('a phone number in a path is masked, its plus escaped or not', () => {
  expect(maskText('/accounts/%2B254712345678/address')).toBe('/accounts/%2B25471234****/address');
  expect(maskText('dialled by +254 712 345-678, twice')).toBe('dialled by +254 71* ***-***, twice');
  expect(maskText('/accounts/+254712345678/address')).toBe('/accounts/+25471234****/address');
});

test('what only resembles a phone number stays', () => {
  const stays = '2026-11-16T03:34:00.000+03:00 1+254712345678 +12345';
  expect(maskText(stays)).toBe(stays);
  expect(maskPhone('+1234567')).toBe('+123****');
});

test('what was logged last is written before the process ends, however it ends', async () => {
  const module = fileURLToPath(new URL('logger.ts', import.meta.url));
  for (const end of ['process.exit(3)', 'throw new Error("boom")', '']) {
    const program = `
      const { createLogger } = await import(${JSON.stringify(module)});
      const [first, second] = ['one', 'two', ...'abcdefghijkl'].map((name) => createLogger({ name, level: 'info' }));
      for (let line = 0; line < 500; line++) first.info({ line }, 'x'.repeat(100));
      second.info('last');
      ${end}`;
    const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', program]).catch(
      (error) => error,
    );
    const lines = String(stdout).trim().split('\n');
    expect(lines.length, end).toBe(501);
    expect(String(stderr)).not.toContain('Warning');
    expect(lines.map((line) => JSON.parse(line).service).filter((name) => name === 'two')).toEqual(['two']);
  }
});
