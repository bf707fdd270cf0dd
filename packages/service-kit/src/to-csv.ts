/**
 * RFC 4180 lines. A cell that a spreadsheet would run as a formula is written as text, with an apostrophe before it; a
 * phone number is a plus and digits, which compute nothing, and stays what it is.
 */
export function toCsvLines(rows: string[][]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: string): string {
  const safe = /^(?!\+\d+$)[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
