export type Inline =
  | string
  | { type: 'strong' | 'em' | 'del'; children: Inline[] }
  | { type: 'code'; text: string }
  | { type: 'link'; href: string; children: Inline[] }
  | { type: 'br' };

const maxDepth = 8;
const maxUrl = 2048;
const schemes = ['http://', 'https://', 'mailto:'];
const blank = /\s/g;
const urlEnd = /[\s<>"`]/g;
const special = /[\\`*_~[!<\n]|https?:\/\//g;
const delimiters = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
] as const;

interface Place {
  depth: number;
  /** The text of a link, in which there are no further links. */
  isLabel: boolean;
}

/** Text with emphasis, code and links. Whatever is not closed or not allowed stays the text it is. */
export function parseInline(text: string, { depth, isLabel }: Place = { depth: 0, isLabel: false }): Inline[] {
  const nodes: Inline[] = [];
  let plain = '';
  const add = (node: Inline) => {
    if (plain) nodes.push(plain);
    plain = '';
    nodes.push(node);
  };
  const find = createFinder(text);

  let at = 0;
  while (at < text.length) {
    special.lastIndex = at;
    const next = special.exec(text)?.index ?? text.length;
    plain += text.slice(at, next);
    at = next;
    if (at >= text.length) break;
    const found = depth < maxDepth ? read(text, at, { find, depth, isLabel }) : undefined;
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

type Find = (mark: string, from: number, fits?: (at: number) => boolean) => number;

/** Remembers each mark, so that hostile input stays linear. `fits` always goes with the same mark and depends on the place alone. */
function createFinder(text: string): Find {
  const known = new Map<string, { from: number; at: number }>();
  return (mark, from, fits = () => true) => {
    const last = known.get(mark);
    if (last && last.from <= from && (last.at < 0 || last.at >= from)) return last.at;
    let at = text.indexOf(mark, from);
    while (at >= 0 && !fits(at)) at = text.indexOf(mark, at + 1);
    known.set(mark, { from, at });
    return at;
  };
}

interface Scan extends Place {
  find: Find;
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
  if (scan.isLabel && /[[!<h]/.test(character ?? '')) return undefined;
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
  const inner = find('[', open);
  if (inner >= 0 && inner < middle) return undefined;
  const label = text.slice(open, middle);
  const target = text.slice(middle + 2, Math.min(end, middle + 2 + maxUrl)).trim();
  blank.lastIndex = 0;
  const href = toSafeHref(target.slice(0, blank.exec(target)?.index));
  if (!href) return undefined;
  return {
    node: { type: 'link', href, children: parseInline(label || href, { depth: depth + 1, isLabel: true }) },
    end: end + 1,
  };
}

function readBareLink(text: string, at: number, close: string): Found | undefined {
  const url = readUrl(text, at);
  const shown = close ? url : withoutPunctuation(url);
  const href = toSafeHref(shown);
  if (!href || (close && text[at + url.length] !== close)) return undefined;
  return { node: { type: 'link', href, children: [shown] }, end: at + shown.length + close.length };
}

function readUrl(text: string, at: number): string {
  if (!schemes.some((scheme) => text.startsWith(scheme, at))) return '';
  const rest = text.slice(at, at + maxUrl);
  urlEnd.lastIndex = 0;
  const end = urlEnd.exec(rest)?.index ?? rest.length;
  return rest.slice(0, end);
}

function withoutPunctuation(url: string): string {
  let end = url.length;
  while (end > 0 && `.,;:!?'*_)]`.includes(url[end - 1] ?? '')) end -= 1;
  return url.slice(0, end);
}

function readEmphasis(text: string, at: number, { find, depth, isLabel }: Scan): Found | undefined {
  for (const [mark, type] of delimiters) {
    if (!text.startsWith(mark, at)) continue;
    const start = at + mark.length;
    // snake_case is not emphasis, nor is a mark between spaces.
    if (mark[0] === '_' && /\w/.test(text[at - 1] ?? '')) continue;
    if (/^\s?$/.test(text[start] ?? '')) continue;
    const end = find(mark, start + 1, (place) => isClosing(text, place, mark));
    if (end < 0) continue;
    const children = parseInline(text.slice(start, end), { depth: depth + 1, isLabel });
    return { node: { type, children }, end: end + mark.length };
  }
  return undefined;
}

function isClosing(text: string, at: number, mark: string): boolean {
  const [before = '', after = ''] = [text[at - 1], text[at + mark.length]];
  if (/\s/.test(before)) return false;
  if (mark.length === 1 && (after === mark || before === mark)) return false;
  return mark[0] !== '_' || !/\w/.test(after);
}

/** Only addresses that open a page or a mail; never a script. */
export function toSafeHref(text: string): string | undefined {
  return /^(https?:\/\/|mailto:)/i.test(text.slice(0, 10)) && URL.canParse(text) ? new URL(text).href : undefined;
}
