/** An accumulated text of 182 characters has room for some fifty times `98`: nobody can page further than this. */
const maxCharacters = 8_000;
/** More than the marks of an answer can take away from what is shown. */
const maxRead = 4 * maxCharacters;
const maxBullet = 40;

/** Removes the marks of Markdown. Every character is looked at a bounded number of times, whatever the answer is. */
export function toPlainText(markdown: string): string {
  const plain = stripMarks(markdown.slice(0, maxRead));
  if (plain.length <= maxCharacters) return markdown.length > maxRead ? `${plain}...` : plain;
  const space = plain.lastIndexOf(' ', maxCharacters);
  return `${plain.slice(0, space > 0 ? space : maxCharacters)}...`;
}

function stripMarks(markdown: string): string {
  const lines: string[] = [];
  for (const line of markdown.replaceAll('\r\n', '\n').replaceAll('\r', '\n').split('\n')) {
    const shown = line.startsWith('```') ? '' : stripInline(stripLineMark(line)).trimEnd();
    if (shown !== '') lines.push(shown);
  }
  return lines.join('\n').trim();
}

function stripLineMark(line: string): string {
  const start = line.slice(0, maxBullet);
  const heading = /^ {0,3}#{1,6} +/.exec(start)?.[0];
  if (heading) return line.slice(heading.length).trimStart();
  const [bullet, indent] = /^( *)[*+] +/.exec(start) ?? [];
  return bullet === undefined ? line : `${indent}- ${line.slice(bullet.length).trimStart()}`;
}

/** Remembers the next place of a mark, so that a line full of openings is searched once, not once for each. */
function createFinder(line: string): (mark: string, from: number) => number {
  const known = new Map<string, { from: number; at: number }>();
  return (mark, from) => {
    const last = known.get(mark);
    if (last && last.from <= from && (last.at < 0 || last.at >= from)) return last.at;
    const at = line.indexOf(mark, from);
    known.set(mark, { from, at });
    return at;
  };
}

type Find = ReturnType<typeof createFinder>;

interface Stripped {
  text: string;
  end: number;
}

const marks = ['[', '!', '*', '_', '`'];

function stripInline(line: string): string {
  if (!marks.some((mark) => line.includes(mark))) return line;
  const find = createFinder(line);
  let plain = '';
  for (let at = 0; at < line.length; ) {
    const found = readLink(line, at, find) ?? readPair(line, at, find);
    plain += found ? found.text : line[at];
    at = found?.end ?? at + 1;
  }
  return plain;
}

/** `[label](target)` and `![label](target)` as `label (target)`. */
function readLink(line: string, at: number, find: Find): Stripped | undefined {
  const open = line[at] === '!' ? at + 1 : at;
  if (line[open] !== '[') return undefined;
  const middle = find(']', open + 1);
  if (middle <= open + 1 || line[middle + 1] !== '(') return undefined;
  const end = find(')', middle + 2);
  const blank = find(' ', middle + 2);
  if (end <= middle + 2 || (blank >= 0 && blank < end)) return undefined;
  return { text: `${line.slice(open + 1, middle)} (${line.slice(middle + 2, end)})`, end: end + 1 };
}

/** Strong, slanted and code: what is between the same mark twice. */
function readPair(line: string, at: number, find: Find): Stripped | undefined {
  const mark = ['**', '__', '*', '`'].find((known) => line.startsWith(known, at));
  if (mark === undefined) return undefined;
  const start = at + mark.length;
  const end = find(mark, start + 1);
  if (end < 0) return undefined;
  const isCode = mark === '`';
  if (!isCode && (isBlank(line[start]) || isBlank(line[end - 1]))) return undefined;
  // A star inside a word, as in a product, is not a mark.
  if (mark === '*' && (isWord(line[at - 1]) || isWord(line[end + 1]) || line[end + 1] === '*')) return undefined;
  const inner = line.slice(start, end);
  return { text: mark.length === 2 && inner.includes('*') ? stripInline(inner) : inner, end: end + mark.length };
}

function isBlank(character: string | undefined): boolean {
  return character === undefined || character.trim() === '';
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}
