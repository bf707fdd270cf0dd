import { type Inline, parseInline } from './parse-inline.ts';

export type Block =
  | { type: 'heading'; level: 1 | 2 | 3 | 4 | 5 | 6; children: Inline[] }
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'code'; language: string; text: string }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'list'; start: number | undefined; items: Block[][] }
  | { type: 'table'; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

export type Align = 'left' | 'center' | 'right' | undefined;

const maxDepth = 8;
// Each is tried on the beginning of a line only, which is enough for its mark; a line may be as long as an answer.
const maxMark = 40;
const fencePattern = /^ {0,3}(`{3,}|~{3,})/;
const headingPattern = /^ {0,3}(#{1,6})\s/;
const itemPattern = /^( {0,3})([-*+]|(\d{1,9})[.)])( {1,4}|$)/;
const quotePattern = /^ {0,3}> ?/;

function matchMark(pattern: RegExp, line: string): RegExpExecArray | null {
  return pattern.exec(line.slice(0, maxMark));
}

/** Pieces that can be parsed alone: an answer that grows changes only its last one, so a page draws the others once. */
export function splitBlocks(text: string): string[] {
  const pieces: string[][] = [];
  let fence: string | undefined;
  let isGap = true;
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const mark = matchMark(fencePattern, line)?.[1];
    const isIndented = line !== '' && line[0]?.trim() === '';
    const continues = isIndented || matchMark(itemPattern, line) !== null;
    const isList = matchMark(itemPattern, pieces.at(-1)?.[0] ?? '') !== null;
    if (fence !== undefined || !(isGap && line !== '') || (isList && continues)) pieces.at(-1)?.push(line);
    else pieces.push([line]);
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence)) fence = undefined;
    isGap = fence === undefined && line.trim() === '';
  }
  return pieces.map((lines) => lines.join('\n').trimEnd()).filter((piece) => piece !== '');
}

export function parseBlocks(text: string, depth = 0): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if ((lines[at] ?? '').trim() === '') {
      at += 1;
      continue;
    }
    const { block, end } = readBlock(lines, at, depth);
    blocks.push(block);
    at = Math.max(end, at + 1);
  }
  return blocks;
}

interface Read {
  block: Block;
  end: number;
}

function readBlock(lines: string[], at: number, depth: number): Read {
  const line = lines[at] ?? '';
  const fence = matchMark(fencePattern, line);
  if (fence) return readCode(lines, at, { mark: fence[1] ?? '', language: readLanguage(line.slice(fence[0].length)) });
  const heading = readHeading(line);
  if (heading) return { block: heading, end: at + 1 };
  if (isRule(line)) return { block: { type: 'rule' }, end: at + 1 };
  if (depth < maxDepth && matchMark(quotePattern, line)) return readQuote(lines, at, depth);
  if (depth < maxDepth && matchMark(itemPattern, line)) return readList(lines, at, depth);
  if (line.includes('|') && isDivider(lines[at + 1] ?? '')) return readTable(lines, at);
  return readParagraph(lines, at);
}

function readLanguage(rest: string): string {
  return /^[^`\s]*/.exec(rest.trimStart().slice(0, maxMark))?.[0] ?? '';
}

function readHeading(line: string): Block | undefined {
  const mark = matchMark(headingPattern, line);
  const text = mark ? line.slice(mark[0].length).trim() : '';
  if (!mark || text === '') return undefined;
  let end = text.length;
  while (end > 1 && text[end - 1] === '#') end -= 1;
  const level = (mark[1]?.length ?? 1) as 1;
  return { type: 'heading', level, children: parseInline(text.slice(0, end).trimEnd()) };
}

function isRule(line: string): boolean {
  const marks = line.trim().replaceAll(' ', '');
  const mark = marks[0];
  if (mark === undefined || !'-*_'.includes(mark) || marks.length < 3) return false;
  return marks.replaceAll(mark, '') === '' && !line.startsWith('    ');
}

function isDivider(line: string): boolean {
  const cells = withoutBars(line).split('|');
  return cells.every((cell) => {
    const text = cell.trim();
    const hyphens = text.slice(text.startsWith(':') ? 1 : 0, text.endsWith(':') ? -1 : undefined);
    return hyphens !== '' && hyphens.replaceAll('-', '') === '';
  });
}

function withoutBars(line: string): string {
  const text = line.trim();
  return text.slice(text.startsWith('|') ? 1 : 0, text.length > 1 && text.endsWith('|') ? -1 : undefined);
}

/** A fence that is not closed yet holds everything after it. */
function readCode(lines: string[], at: number, { mark, language }: { mark: string; language: string }): Read {
  let end = at + 1;
  while (end < lines.length && !lines[end]?.trimStart().startsWith(mark)) end += 1;
  return { block: { type: 'code', language, text: lines.slice(at + 1, end).join('\n') }, end: end + 1 };
}

function readQuote(lines: string[], at: number, depth: number): Read {
  const inner: string[] = [];
  let end = at;
  for (let match = matchMark(quotePattern, lines[at] ?? ''); match; match = matchMark(quotePattern, lines[end] ?? '')) {
    inner.push((lines[end] ?? '').slice(match[0].length));
    end += 1;
  }
  return { block: { type: 'quote', blocks: parseBlocks(inner.join('\n'), depth + 1) }, end };
}

function readList(lines: string[], at: number, depth: number): Read {
  const first = matchMark(itemPattern, lines[at] ?? '');
  const isOrdered = first?.[3] !== undefined;
  const items: string[][] = [];
  let indent = 0;
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? '';
    const item = matchMark(itemPattern, line);
    const belongs = items.length > 0 && line.trim() !== '' && line.length - line.trimStart().length >= indent;
    if (item && !belongs && (item[3] !== undefined) === isOrdered) {
      indent = (item[1]?.length ?? 0) + (item[2]?.length ?? 0) + 1;
      items.push([line.slice(item[0].length)]);
    } else if (line.trim() === '' || belongs) items.at(-1)?.push(line.slice(indent));
    else if (item || lines[end - 1]?.trim() === '') break;
    else items.at(-1)?.push(line);
  }
  const start = isOrdered ? Number(first?.[3]) : undefined;
  return { block: { type: 'list', start, items: items.map((item) => parseBlocks(item.join('\n'), depth + 1)) }, end };
}

function readTable(lines: string[], at: number): Read {
  const toCells = (line: string) =>
    withoutBars(line)
      .split('|')
      .map((cell) => parseInline(cell.trim()));
  let end = at + 2;
  while (end < lines.length && lines[end]?.includes('|')) end += 1;
  const [head = '', divider = '', ...rows] = lines.slice(at, end);
  const align = withoutBars(divider).split('|').map(toAlign);
  return { block: { type: 'table', align, head: toCells(head), rows: rows.map(toCells) }, end };
}

function toAlign(cell: string): Align {
  const text = cell.trim();
  if (text.endsWith(':')) return text.startsWith(':') ? 'center' : 'right';
  return text.startsWith(':') ? 'left' : undefined;
}

function readParagraph(lines: string[], at: number): Read {
  let end = at + 1;
  while (end < lines.length && !startsBlock(lines[end] ?? '')) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join('\n');
  return { block: { type: 'paragraph', children: parseInline(text) }, end };
}

function startsBlock(line: string): boolean {
  return (
    line.trim() === '' ||
    isRule(line) ||
    [fencePattern, headingPattern, quotePattern, itemPattern].some((pattern) => matchMark(pattern, line) !== null)
  );
}
