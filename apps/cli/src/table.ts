import { printable } from '@palaver/service-kit/internal';

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

export function printTable(head: string[], rows: string[][]): void {
  process.stdout.write(`${toTable(head, rows)}\n`);
}

/** Cells may hold texts of strangers, so they are made printable. */
export function toTable(head: string[], foreign: string[][]): string {
  const rows = foreign.map((row) => row.map((cell) => printable`${cell}`));
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)].join('\n');
}
