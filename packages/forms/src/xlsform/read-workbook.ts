import { strFromU8, unzipSync } from 'fflate';
import { XlsFormFault } from './xlsform-fault.ts';

/** A row of a sheet by the heads of its columns; empty cells are left out. */
export type SheetRow = Record<string, string>;

/** A workbook of a few kilobytes can unpack to gigabytes. */
const maxUnpacked = 20_000_000;

/** The sheets of an Excel workbook (ECMA-376), by name in small letters, as texts. */
export function readWorkbook(bytes: Uint8Array): Map<string, SheetRow[]> {
  const parts = unpack(bytes);
  const part = (path: string) => parts[path.replace(/^\//, '')] ?? '';
  const links = elementsIn(part('xl/_rels/workbook.xml.rels'), 'Relationship');
  const targets = new Map(links.map(({ attributes: { Id = '', Target = '' } }) => [Id, Target]));
  const texts = elementsIn(part('xl/sharedStrings.xml'), 'si').map(({ inner }) => textOf(inner));
  const sheets = elementsIn(part('xl/workbook.xml'), 'sheet');
  if (sheets.length === 0) throw new XlsFormFault('it is not an Excel workbook (.xlsx)');
  return new Map(
    sheets.map(({ attributes }) => {
      const id = Object.entries(attributes).find(([name]) => /(^|:)id$/.test(name))?.[1] ?? '';
      const target = targets.get(id) ?? '';
      const path = target.startsWith('/') ? target : `xl/${target}`;
      return [(attributes.name ?? '').trim().toLowerCase(), toRows(part(path), texts)];
    }),
  );
}

function unpack(bytes: Uint8Array): Record<string, string> {
  let size = 0;
  try {
    const files = unzipSync(bytes, {
      filter({ name, originalSize }) {
        const isRead = /^xl\/(workbook\.xml|sharedStrings\.xml|_rels\/.+|worksheets\/[^/]+\.xml)$/.test(name);
        if (isRead) size += originalSize;
        if (size > maxUnpacked)
          throw new XlsFormFault('it unpacks to too much: leave out what is not part of the form');
        return isRead;
      },
    });
    return Object.fromEntries(Object.entries(files).map(([path, file]) => [path, strFromU8(file)]));
  } catch (error) {
    throw error instanceof XlsFormFault ? error : new XlsFormFault('it is not an Excel workbook (.xlsx)');
  }
}

interface XmlElement {
  attributes: Record<string, string>;
  inner: string;
}

/** Elements of a name that are not inside another of it, with or without a prefix. */
function elementsIn(xml: string, name: string): XmlElement[] {
  const pattern = new RegExp(`<(?:\\w+:)?${name}(\\s[^>]*?)?(?:/>|>([\\s\\S]*?)</(?:\\w+:)?${name}>)`, 'g');
  return Array.from(xml.matchAll(pattern), ([, attributes = '', inner = '']) => ({
    attributes: Object.fromEntries(
      Array.from(attributes.matchAll(/([\w:]+)="([^"]*)"/g), ([, key = '', value = '']) => [key, decode(value)]),
    ),
    inner,
  }));
}

/** The text of a cell or a shared string; how it is read aloud does not count. */
function textOf(xml: string): string {
  const spoken = xml.replace(/<(?:\w+:)?rPh[\s>][\s\S]*?<\/(?:\w+:)?rPh>/g, '');
  return elementsIn(spoken, 't')
    .map(({ inner }) => decode(inner))
    .join('');
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decode(text: string): string {
  return text
    .replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, code?: string, name?: string) =>
      name ? (entities[name] ?? whole) : String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(code)),
    )
    .replace(/_x([\dA-F]{4})_/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
}

function toRows(xml: string, texts: string[]): SheetRow[] {
  const rows = elementsIn(xml, 'row').map(({ inner }) => {
    const cells = new Map<string, string>();
    for (const { attributes, inner: cell } of elementsIn(inner, 'c')) {
      const text = toText(attributes.t, cell, texts).trim();
      const column = attributes.r?.replace(/\d+$/, '') ?? String(cells.size);
      if (text !== '') cells.set(column, text);
    }
    return cells;
  });
  const [heads, ...body] = rows.filter((cells) => cells.size > 0);
  return body.map((cells) => {
    const own = [...(heads ?? [])].map(([column, head]) => [head, cells.get(column)] as const);
    return Object.fromEntries(own.flatMap(([head, text]) => (text === undefined ? [] : [[head, text]])));
  });
}

function toText(type: string | undefined, cell: string, texts: string[]): string {
  if (type === 'inlineStr') return textOf(cell);
  const value = decode(elementsIn(cell, 'v')[0]?.inner ?? '');
  if (type === 's') return texts[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type === 'e') return '';
  // Spreadsheets store binary numbers, such as 0.30000000000000004.
  return type === undefined || type === 'n' ? (value === '' ? '' : String(Number(value))) : value;
}
