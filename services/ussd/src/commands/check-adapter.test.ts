import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checkAdapterFile } from './check-adapter.ts';

const arkesel = fileURLToPath(new URL('../../adapters/arkesel.yaml', import.meta.url));

test('prints a dialogue in the form of the telecom gateway, or where the file is wrong', async () => {
  const { ok, lines } = await checkAdapterFile(arkesel, {});
  expect([ok, lines[0]]).toEqual([true, 'Arkesel: POST /api/ussd/arkesel: no faults']);
  expect(lines.slice(-1)).toEqual([
    '{"sessionID":"sample-1","userID":"trial","msisdn":"254700000001","message":"Goodbye","continueSession":false}',
  ]);
  expect(await checkAdapterFile('missing.yaml', {})).toMatchObject({
    ok: false,
    lines: [expect.stringMatching(/ENOENT/)],
  });
});
