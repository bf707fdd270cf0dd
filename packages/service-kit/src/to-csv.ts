/**
 * RFC 4180 lines. A cell that a spreadsheet would run as a formula is written as text, with an apostrophe before it; a
 * phone number is a plus and digits, which compute nothing, and stays what it is. Spreadsheets of many languages split
 * cells at semicolons, so what follows one is a beginning too.
 */
export function toCsvLines(rows: string[][]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

// The wide forms are the same signs to a spreadsheet with an East Asian language.
const formulaAtStart = /^(?!\+\d+$)(?:[\t\r\n]| *[=+\-@\uff1d\uff0b\uff0d\uff20])/;
const formulaAfterSeparator = /[;\t\r\n] *(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

function toCell(value: string): string {
  const split = value.replace(formulaAfterSeparator, "$&'");
  const safe = formulaAtStart.test(value) ? `'${split}` : split;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
