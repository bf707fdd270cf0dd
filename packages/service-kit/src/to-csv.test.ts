import { expect, test } from 'vitest';
import { toCsvLines } from './to-csv.ts';

test.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+1+cmd()', "'+1+cmd()"],
  ['-2', "'-2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['+254700000001', '+254700000001'],
  ['\n=1+1', `"'\n'=1+1"`],
  ['\r=1+1', `"'\r'=1+1"`],
  ['\t=1+1', `"'\t'=1+1"`],
  [' =1+1', "' =1+1"],
  ['\uff1d1+1', "'\uff1d1+1"],
  ['maize;=1+1', `"maize;'=1+1"`],
  ['maize\t @SUM(A1)', `"maize\t '@SUM(A1)"`],
  ['a; b', '"a; b"'],
  ['3-4=5', '3-4=5'],
])('the cell %j is written as %j', (value, cell) => {
  expect(toCsvLines([[value, 'z']])).toBe(`${cell},z\r\n`);
});

test.each([
  ['+254700000001', '"=""+254700000001"""'],
  ['254700000001', '"=""254700000001"""'],
  ['0712345678', '"=""0712345678"""'],
  ['12', '12'],
  ['0', '0'],
  ['+1+cmd()', "'+1+cmd()"],
])('for a spreadsheet the cell %j is written as %j', (value, cell) => {
  expect(toCsvLines([[value, 'z']], { forSpreadsheet: true })).toBe(`${cell},z\r\n`);
});
