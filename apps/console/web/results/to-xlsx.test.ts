import { strFromU8, unzipSync } from 'fflate';
import { expect, test } from 'vitest';
import { toRows, toXlsx } from './to-xlsx.ts';

const sheetOf = (rows: string[][]) => {
  const part = unzipSync(toXlsx(rows))['xl/worksheets/sheet1.xml'];
  return strFromU8(part ?? new Uint8Array());
};

test('numbers are numbers, and what looks like a formula is text', () => {
  const sheet = sheetOf([
    ['name', '12'],
    ['=HYPERLINK("http://x")', '12.5'],
    ['+254700000001', '0012'],
    ['<b> & \u0000\ud800', '-3'],
  ]);
  expect(sheet).not.toContain('<f>');
  expect(sheet).toContain('<c t="inlineStr" s="1"><is><t xml:space="preserve">=HYPERLINK("http://x")</t></is></c>');
  expect(sheet.match(/<v>[^<]*<\/v>/g)).toEqual(['<v>12.5</v>', '<v>-3</v>']);
  expect(sheet).toContain('&lt;b&gt; &amp; \ufffd\ufffd');
  expect(sheet).toContain('>+254700000001<');
});

test('rows have a column for each answer that anyone gave', () => {
  const own = { phoneNumber: '+254700000001', createdAt: '2026-11-17T10:00:00.000Z' };
  const delivery = { status: 'failed', attempts: 1, fault: 'refused' } as const;
  expect(
    toRows([
      { id: '1', ...own, values: { a: 'x' }, delivery },
      { id: '2', ...own, values: { b: 'y' } },
    ]),
  ).toEqual([
    ['id', 'phoneNumber', 'createdAt', 'status', 'fault', 'a', 'b'],
    ['1', own.phoneNumber, own.createdAt, 'failed', 'refused', 'x', ''],
    ['2', own.phoneNumber, own.createdAt, '', '', '', 'y'],
  ]);
});
