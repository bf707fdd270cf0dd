import Papa from 'papaparse';

/**
 * RFC 4180 lines. A cell that a spreadsheet would run as a formula is written as text, with an apostrophe before it; a
 * phone number is a plus and digits, which compute nothing, and stays what it is. Spreadsheets of many languages split
 * cells at semicolons, so what follows one is a beginning too. `forSpreadsheet` writes phone numbers and other long numbers so
 * that a spreadsheet shows all their digits, and the plus; programs read them better without.
 */
export function toCsvLines(rows: string[][], { forSpreadsheet = false } = {}): string {
  const write = forSpreadsheet ? toSpreadsheetCell : toCell;
  if (rows.length === 0) return '';
  // Spreadsheets of many languages split cells at semicolons, and some at tabs.
  const quotes = (value: unknown) => /[;\t]/.test(String(value));
  return `${Papa.unparse(
    rows.map((row) => row.map(write)),
    { newline: '\r\n', quotes },
  )}\r\n`;
}

/** A spreadsheet keeps 15 digits, shows 11, and drops a plus and zeros at the beginning. */
const losesDigits = /^(?:\+\d+|0\d+|\d{12,})$/;

function toSpreadsheetCell(value: string): string {
  return losesDigits.test(value) ? `="${value}"` : toCell(value);
}

// The wide forms are the same signs to a spreadsheet with an East Asian language.
const formulaAtStart = /^(?!\+\d+$)(?:[\t\r\n]| *[=+\-@\uff1d\uff0b\uff0d\uff20])/;
const formulaAfterSeparator = /[;\t\r\n] *(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

function toCell(value: string): string {
  const split = value.replace(formulaAfterSeparator, "$&'");
  return formulaAtStart.test(value) ? `'${split}` : split;
}
