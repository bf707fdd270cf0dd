import { type SaxesAttributeNS, SaxesParser } from 'saxes';

export type Fields = Record<string, unknown>;

/** Deeper elements are no request of a telecom gateway. */
const maxDepth = 20;

interface Element {
  fields: Fields;
  text: string;
}

/** Elements by local name, the first of each; attributes as in `call@new`. A document's own entities are refused. */
export function readXml(body: string): Fields | undefined {
  const top: Element = { fields: Object.create(null), text: '' };
  const open = [top];
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('doctype', () => {
    throw new Error('a document type');
  });
  parser.on('opentag', ({ local, attributes }) => {
    if (open.length > maxDepth) throw new Error('too deep');
    const outer = open.at(-1) ?? top;
    for (const attribute of Object.values<SaxesAttributeNS>(attributes))
      if (attribute.prefix !== 'xmlns') outer.fields[`${local}@${attribute.local}`] ??= attribute.value;
    open.push({ fields: Object.create(null), text: '' });
  });
  const addText = (text: string) => {
    const inner = open.at(-1);
    if (inner) inner.text += text;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', ({ local }) => {
    const { fields, text } = open.pop() ?? top;
    const outer = open.at(-1) ?? top;
    outer.fields[local] ??= Object.keys(fields).length > 0 ? fields : text.trim();
  });
  try {
    parser.write(body).close();
    return top.fields;
  } catch {
    return undefined;
  }
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

export function escapeXml(text: string): string {
  // XML has no way to write other control characters.
  return text
    .replace(/[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu, '')
    .replace(/[&<>"']/g, (character) => escapes[character] ?? '');
}
