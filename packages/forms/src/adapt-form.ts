// Community health forms use what ODK's engine does not know: `difference-in-months`, and a second group named `meta`.

interface Element {
  localName: string;
  namespaceURI: string | null;
  children: ArrayLike<Element> & Iterable<Element>;
  attributes: Iterable<{ value: string }>;
  append(...children: Element[]): void;
  remove(): void;
}

interface XmlDocument {
  getElementsByTagName(name: string): Iterable<Element>;
}

interface Dom {
  DOMParser: new () => { parseFromString(xml: string, type: 'text/xml'): XmlDocument };
  XMLSerializer: new () => { serializeToString(document: XmlDocument): string };
}

export function adaptForm(xml: string): string {
  const { DOMParser, XMLSerializer } = globalThis as unknown as Dom;
  const countsMonths = xml.includes(monthsFunction);
  if (!countsMonths && (xml.match(/<(?:\w+:)?meta\b/g) ?? []).length < 2) return xml;
  const document = new DOMParser().parseFromString(xml, 'text/xml');
  const [instance] = document.getElementsByTagName('instance');
  for (const root of instance?.children ?? []) joinMetas(root);
  if (countsMonths)
    for (const { attributes } of document.getElementsByTagName('*'))
      for (const attribute of attributes) attribute.value = expandMonths(attribute.value);
  return new XMLSerializer().serializeToString(document);
}

function joinMetas(root: Element): void {
  const metas = [...root.children].filter(({ localName }) => localName === 'meta');
  for (const [index, meta] of metas.entries()) {
    const first = metas.slice(0, index).find(({ namespaceURI }) => namespaceURI === meta.namespaceURI);
    if (!first) continue;
    first.append(...meta.children);
    meta.remove();
  }
}

const monthsFunction = 'difference-in-months';
/** The arguments are written several times, so calls inside calls multiply. */
const maxLength = 20_000;

/** Whole months from one date to another, with functions that every engine has. */
export function expandMonths(expression: string): string {
  const start = expression.lastIndexOf(monthsFunction);
  if (start < 0 || expression.length > maxLength) return expression;
  const call = readArguments(expression, expression.indexOf('(', start));
  const [from, to] = call?.parts ?? [];
  if (!call || from === undefined || to === undefined) return expression;
  const part = (date: string, format: string) => `number(format-date(${date}, '%${format}'))`;
  const months = `(${part(to, 'Y')} - ${part(from, 'Y')}) * 12 + ${part(to, 'n')} - ${part(from, 'n')}`;
  const unfinished = `if(${part(to, 'e')} < ${part(from, 'e')}, 1, 0)`;
  const expanded = `if(string(${from}) = '' or string(${to}) = '', '', ${months} - ${unfinished})`;
  return expandMonths(expression.slice(0, start) + expanded + expression.slice(call.end));
}

export function readArguments(expression: string, open: number): { parts: string[]; end: number } | undefined {
  let [depth, from, quote] = [0, open + 1, ''];
  const parts: string[] = [];
  for (let at = open; at >= 0 && at < expression.length; at++) {
    const character = expression.charAt(at);
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if ('([{'.includes(character)) depth += 1;
    else if (character === ',' && depth === 1) {
      parts.push(expression.slice(from, at).trim());
      from = at + 1;
    } else if (')]}'.includes(character) && --depth === 0)
      return { parts: [...parts, expression.slice(from, at).trim()], end: at + 1 };
  }
  return undefined;
}
