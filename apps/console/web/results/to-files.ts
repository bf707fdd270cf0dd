import { strToU8, Zip, ZipDeflate, ZipPassThrough } from 'fflate';
import { choiceLabel, type Labels, questionLabel } from './labels.ts';
import type { ExportedResult } from './results-api.ts';

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const types = 'http://schemas.openxmlformats.org/package/2006/content-types';
const relations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const sheet = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const kind = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

// Style 1 is text with a quote prefix: what begins with = stays text when the cell is edited. Style 2 is the bold head.
const parts = {
  '[Content_Types].xml': `<Types xmlns="${types}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${kind}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${kind}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${kind}.styles+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${sheet}" xmlns:r="${office}"><sheets><sheet name="Results" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${office}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `<styleSheet xmlns="${sheet}"><fonts count="2"><font/><font><b/></font></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/><xf numFmtId="49" applyNumberFormat="1" quotePrefix="1"/><xf fontId="1" applyFont="1"/></cellXfs></styleSheet>`,
};

// A leading zero or a plus belongs to codes and phone numbers; more than 15 digits would be rounded.
const number = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,6})?$/;
// XML 1.0 has no form for control characters and halves of characters.
const unwritable = /(?![\t\n\r])[\p{Cc}\p{Cs}\ufffe\uffff]/gu;

const rowsAtOnce = 500;

/** Its first row stays in view. Texts are texts: none is computed as a formula. The page works between two pieces of rows. */
export async function toXlsx(rows: Iterable<readonly string[]>): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const zip = new Zip((error, piece) => {
    if (error) throw error;
    pieces.push(piece);
  });
  for (const [path, text] of Object.entries(parts)) {
    const part = new ZipPassThrough(path);
    zip.add(part);
    part.push(strToU8(xml + text), true);
  }
  const data = new ZipDeflate('xl/worksheets/sheet1.xml');
  zip.add(data);
  const frozen =
    '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews>';
  let text = `${xml}<worksheet xmlns="${sheet}">${frozen}<sheetData>`;
  let count = 0;
  for (const row of rows) {
    const isHead = count === 0;
    text += `<row>${row.map((cell) => toCell(cell, isHead)).join('')}</row>`;
    count++;
    if (count % rowsAtOnce !== 0) continue;
    data.push(strToU8(text));
    text = '';
    await new Promise((resolve) => setTimeout(resolve));
  }
  data.push(strToU8(`${text}</sheetData></worksheet>`), true);
  zip.end();
  return pieces;
}

function toCell(text: string, isHead: boolean): string {
  if (text === '') return '<c/>';
  if (!isHead && number.test(text)) return `<c><v>${text}</v></c>`;
  const written = text
    .replace(unwritable, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return `<c t="inlineStr" s="${isHead ? 2 : 1}"><is><t xml:space="preserve">${written}</t></is></c>`;
}

export const xlsxType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

export function* toRows(results: readonly ExportedResult[], labels: Labels): Generator<string[]> {
  const names = namesIn(results);
  const isDelivered = results.some(({ delivery }) => delivery !== undefined);
  const own = ['id', 'phoneNumber', 'createdAt', ...(isDelivered ? ['status', 'fault'] : [])];
  yield [...own, ...names.map((name) => questionLabel(labels, name))];
  for (const { id, phoneNumber, createdAt, delivery, values } of results)
    yield [
      id,
      phoneNumber,
      createdAt,
      ...(isDelivered ? [delivery?.status ?? '', delivery?.fault ?? ''] : []),
      ...names.map((name) => choiceLabel(labels, name, values[name] ?? '')),
    ];
}

function namesIn(results: readonly ExportedResult[]): string[] {
  const names = new Set<string>();
  for (const { values } of results) for (const name of Object.keys(values)) names.add(name);
  return [...names];
}

/** An apostrophe keeps a cell that begins like a formula a text; numbers and phone numbers need none. */
export function toCsv(rows: Iterable<readonly string[]>): string {
  const toText = (cell: string) => (/^[=@\t\r]|^[+-](?![\d.]+$)/.test(cell) ? `'${cell}` : cell);
  const quote = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  let text = '';
  for (const row of rows) text += `${row.map((cell) => quote(toText(cell))).join(',')}\r\n`;
  return text;
}

export function toJson(results: readonly ExportedResult[], labels: Labels): string {
  const isNumeric = (name: string) => results.every(({ values }) => !values[name] || number.test(values[name]));
  const numeric = new Set(namesIn(results).filter((name) => !labels.choices.has(name) && isNumeric(name)));
  const toValue = (name: string, value: string) =>
    numeric.has(name) && value !== '' ? Number(value) : choiceLabel(labels, name, value);
  const shown = results.map((result) => ({
    ...result,
    values: Object.fromEntries(
      Object.entries(result.values).map(([name, value]) => [questionLabel(labels, name), toValue(name, value)]),
    ),
  }));
  return `${JSON.stringify(shown, null, 1)}\n`;
}
