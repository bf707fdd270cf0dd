import { strFromU8, unzipSync } from 'fflate';
import { expect, test } from 'vitest';
import { noLabels } from './labels.ts';
import { toCsv, toJson, toRows, toXlsx } from './to-files.ts';

const sheetOf = async (rows: Iterable<string[]>) => {
  const file = Buffer.concat(await toXlsx(rows));
  const part = unzipSync(new Uint8Array(file))['xl/worksheets/sheet1.xml'];
  return strFromU8(part ?? new Uint8Array());
};

test('numbers are numbers, and what looks like a formula is text', async () => {
  const sheet = await sheetOf([
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

test('the page works while a file of many rows is made, and no row is lost', async () => {
  let made = 0;
  function* rows() {
    for (; made < 2_000; made++) yield [String(made)];
  }
  const atTimer = new Promise<number>((resolve) => setTimeout(() => resolve(made)));
  const sheet = await sheetOf(rows());
  expect(await atTimer).toBeLessThan(2_000);
  expect(sheet.match(/<row>/g)).toHaveLength(2_000);
  expect(sheet).toContain('<v>1999</v></c></row></sheetData></worksheet>');
});

test('rows have a column for each answer that anyone gave', () => {
  const own = { phoneNumber: '+254700000001', createdAt: '2026-11-17T10:00:00.000Z' };
  const delivery = { status: 'failed', attempts: 1, fault: 'refused' } as const;
  const given: Parameters<typeof toRows>[0] = [
    { id: '1', ...own, values: { a: 'x' }, delivery },
    { id: '2', ...own, values: { b: 'y' } },
  ];
  expect([...toRows(given, noLabels)]).toEqual([
    ['id', 'phoneNumber', 'createdAt', 'status', 'fault', 'a', 'b'],
    ['1', own.phoneNumber, own.createdAt, 'failed', 'refused', 'x', ''],
    ['2', own.phoneNumber, own.createdAt, '', '', '', 'y'],
  ]);
});

const labels = {
  questions: new Map([
    ['size', 'How many people?'],
    ['water', 'Which water?'],
  ]),
  choices: new Map([['water', new Map(Object.entries({ tap: 'A tap', well: 'A well' }))]]),
};
const results = ['7', '12'].map((size, at) => ({
  id: String(at),
  phoneNumber: '+254700000001',
  createdAt: '2026-11-17T10:00:00.000Z',
  values: { size, water: at === 0 ? 'tap well' : 'tap', note: '=1+1' },
}));

test('files have the labels of questions and choices, and the codes where there are none', () => {
  const rows = [...toRows(results, labels)];
  expect(rows[0]?.slice(3)).toEqual(['How many people?', 'Which water?', 'note']);
  expect(rows[1]?.slice(3)).toEqual(['7', 'A tap, A well', '=1+1']);
  expect([...toRows(results, noLabels)][1]?.slice(3)).toEqual(['7', 'tap well', '=1+1']);
  expect(toCsv(rows).split('\r\n')[1]).toBe('0,+254700000001,2026-11-17T10:00:00.000Z,7,"A tap, A well",\'=1+1');
});

test('numbers of a question are numbers in JSON', () => {
  const [first] = JSON.parse(toJson(results, labels)) as { values: Record<string, unknown> }[];
  expect(first?.values).toEqual({ 'How many people?': 7, 'Which water?': 'A tap, A well', note: '=1+1' });
});
