import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir } from '@palaver/test-kit';
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
  expect(await checkAdapterFile('missing.mjs', {})).toMatchObject({ ok: false });
});

test('requests have attributes, headers and a signature', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'mine.yaml');
  writeFileSync(
    file,
    `name: mine
title: Mine
path: /api/ussd/mine
request:
  format: xml
  session: call@id
  number: { at: call.from, plus: added }
  code: { at: header:X-Code, marks: added }
  input: { newest: call.text }
  first: { at: call.step@is, is: first }
reply: { format: xml, continue: '<more id="{request.call@id}">{reply}</more>', end: '<end>{reply}</end>' }
auth: { signature: { header: X-Signature, secret: KEY, algorithm: sha1, encoding: base64, prefix: sha1= } }
`,
  );
  const { lines } = await checkAdapterFile(file, { USSD_ADAPTER_SECRET_KEY: 'key' });
  const body = '<call id="sample-1"><from>254700000001</from><text></text><step is="first"></step></call>';
  const signature = createHmac('sha1', 'key').update(body).digest('base64');
  const url = 'http://127.0.0.1:3000/api/ussd/mine';
  expect(lines.slice(2, 4)).toEqual([
    `curl -X POST '${url}' -H 'content-type: application/xml' -H 'x-code: 1234' -H 'X-Signature: sha1=${signature}' -d '${body}'`,
    '<more id="sample-1">Welcome\n1. Yes</more>',
  ]);
});
