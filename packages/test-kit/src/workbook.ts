import { strToU8, zipSync } from 'fflate';

type Row = readonly (string | number | null)[];

const toXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** An Excel workbook with these sheets, as spreadsheet programs write it. */
export function makeWorkbook(sheets: Record<string, readonly Row[]>): Uint8Array {
  const names = Object.keys(sheets);
  const head = '<?xml version="1.0" encoding="UTF-8"?>';
  const listed = names.map((name, i) => `<sheet name="${toXml(name)}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`);
  const related = names.map((_, i) => `<Relationship Id="rId${i + 1}" Target="worksheets/sheet${i + 1}.xml"/>`);
  const files: Record<string, string> = {
    'xl/workbook.xml': `${head}<workbook><sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships>${related.join('')}</Relationships>`,
  };
  for (const [i, name] of names.entries())
    files[`xl/worksheets/sheet${i + 1}.xml`] = head + toSheet(sheets[name] ?? []);
  return zipSync(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, strToU8(text)])));
}

function toSheet(rows: readonly Row[]): string {
  const cell = (value: string | number, at: string) =>
    typeof value === 'number'
      ? `<c r="${at}"><v>${value}</v></c>`
      : `<c r="${at}" t="inlineStr"><is><t>${toXml(value)}</t></is></c>`;
  const lines = rows.map((row, y) => {
    const cells = row.map((value, x) => (value === null ? '' : cell(value, `${String.fromCharCode(65 + x)}${y + 1}`)));
    return `<row r="${y + 1}">${cells.join('')}</row>`;
  });
  return `<worksheet><sheetData>${lines.join('')}</sheetData></worksheet>`;
}
