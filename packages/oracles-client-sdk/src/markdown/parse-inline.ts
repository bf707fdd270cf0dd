export type Inline =
  | string
  | { type: 'strong' | 'em' | 'del'; children: Inline[] }
  | { type: 'code'; text: string }
  | { type: 'link'; href: string; children: Inline[] }
  | { type: 'br' };

const maxDepth = 8;
const special = /[\\`*_~[!<\n]|https?:\/\//g;
const delimiters = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
] as const;

/** Text with emphasis, code and links. Whatever is not closed or not allowed stays the text it is. */
export function parseInline(text: string, depth = 0): Inline[] {
  const nodes: Inline[] = [];
  // A closing mark that was searched for in vain is in vain for the rest of the text: keeps hostile input linear.
  const missing = new Set<string>();
  let plain = '';
  const add = (node: Inline) => {
    if (plain) nodes.push(plain);
    plain = '';
    nodes.push(node);
  };
  const find = (mark: string, from: number) => {
    if (missing.has(mark)) return -1;
    const at = text.indexOf(mark, from);
    if (at < 0) missing.add(mark);
    return at;
  };

  let at = 0;
  while (at < text.length) {
    special.lastIndex = at;
    const next = special.exec(text)?.index ?? text.length;
    plain += text.slice(at, next);
    at = next;
    if (at >= text.length) break;
    const found = depth < maxDepth ? read(text, at, { find, depth }) : undefined;
    if (found) {
      if (typeof found.node === 'string') plain += found.node;
      else add(found.node);
      at = found.end;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  if (plain) nodes.push(plain);
  return nodes;
}

interface Scan {
  find(mark: string, from: number): number;
  depth: number;
}

interface Found {
  node: Inline;
  end: number;
}

function read(text: string, at: number, scan: Scan): Found | undefined {
  const character = text[at];
  if (character === '\n') return { node: { type: 'br' }, end: at + 1 };
  if (character === '\\')
    return /^[\\`*_~[\](){}#+\-.!|<>]$/.test(text[at + 1] ?? '')
      ? { node: text[at + 1] ?? '', end: at + 2 }
      : undefined;
  if (character === '`') return readCode(text, at, scan);
  if (character === '[' || text.startsWith('![', at)) return readLink(text, at, scan);
  if (character === '<') return readBareLink(text, at + 1, '>');
  if (character === 'h') return readBareLink(text, at, '');
  return readEmphasis(text, at, scan);
}

function readCode(text: string, at: number, { find }: Scan): Found | undefined {
  const fence = /^`+/.exec(text.slice(at, at + 16))?.[0] ?? '`';
  const end = find(fence, at + fence.length);
  if (end < 0) return undefined;
  const code = text.slice(at + fence.length, end);
  return { node: { type: 'code', text: fence.length > 1 ? code.trim() : code }, end: end + fence.length };
}

/** A picture is shown as a link to it: loading it would tell its server that the answer was read. */
function readLink(text: string, at: number, { find, depth }: Scan): Found | undefined {
  const open = text[at] === '!' ? at + 2 : at + 1;
  const middle = find('](', open);
  const end = middle < 0 ? -1 : find(')', middle + 2);
  if (end < 0) return undefined;
  const label = text.slice(open, middle);
  const href = toSafeHref(
    text
      .slice(middle + 2, end)
      .trim()
      .split(/\s/)[0] ?? '',
  );
  if (!href || label.includes('[')) return undefined;
  return { node: { type: 'link', href, children: parseInline(label || href, depth + 1) }, end: end + 1 };
}

function readBareLink(text: string, at: number, close: string): Found | undefined {
  const url = /^(https?:\/\/|mailto:)[^\s<>"`]+/.exec(text.slice(at, at + 2048))?.[0] ?? '';
  const shown = close ? url : url.replace(/[.,;:!?'*_)\]]+$/, '');
  const href = toSafeHref(shown);
  if (!href || (close && text[at + url.length] !== close)) return undefined;
  return { node: { type: 'link', href, children: [shown] }, end: at + shown.length + close.length };
}

function readEmphasis(text: string, at: number, { find, depth }: Scan): Found | undefined {
  for (const [mark, type] of delimiters) {
    if (!text.startsWith(mark, at)) continue;
    const start = at + mark.length;
    // snake_case is no emphasis, and neither is a mark between blanks.
    if (mark[0] === '_' && /\w/.test(text[at - 1] ?? '')) continue;
    if (/^\s?$/.test(text[start] ?? '')) continue;
    let end = find(mark, start + 1);
    if (mark === '*' || mark === '_') {
      while (end >= 0 && text[end + 1] === mark) end = find(mark, end + 2);
    }
    if (end < 0 || /\s/.test(text[end - 1] ?? '')) continue;
    if (mark[0] === '_' && /\w/.test(text[end + mark.length] ?? '')) continue;
    return { node: { type, children: parseInline(text.slice(start, end), depth + 1) }, end: end + mark.length };
  }
  return undefined;
}

/** Only addresses that open a page or a mail; never a script. */
export function toSafeHref(text: string): string | undefined {
  return /^(https?:\/\/|mailto:)/i.test(text) && URL.canParse(text) ? new URL(text).href : undefined;
}
