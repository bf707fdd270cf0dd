import { type Inline, parseInline } from './parse-inline.ts';

export type Block =
  | { type: 'heading'; level: 1 | 2 | 3 | 4 | 5 | 6; children: Inline[] }
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'code'; language: string; text: string }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'list'; start: number | undefined; items: Block[][] }
  | { type: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

const maxDepth = 8;
const fencePattern = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)/;
const headingPattern = /^ {0,3}(#{1,6})\s+(.+?)\s*#*$/;
const rulePattern = /^ {0,3}([-*_])( *\1){2,} *$/;
const itemPattern = /^( {0,3})([-*+]|(\d{1,9})[.)])( {1,4}|$)(.*)$/;
const quotePattern = /^ {0,3}> ?(.*)$/;
const dividerPattern = /^ {0,3}\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/;

/**
 * Pieces of a text that can be parsed on their own. An answer that grows changes only its last piece, so a page draws
 * the others once.
 */
export function splitBlocks(text: string): string[] {
  const pieces: string[][] = [];
  let fence: string | undefined;
  let isGap = true;
  for (const line of text.split(/\r?\n/)) {
    const mark = fencePattern.exec(line)?.[1];
    const continues = /^\s/.test(line) || itemPattern.test(line);
    const isList = itemPattern.test(pieces.at(-1)?.[0] ?? '');
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
  const fence = fencePattern.exec(line);
  if (fence) return readCode(lines, at, { mark: fence[1] ?? '', language: fence[2] ?? '' });
  const heading = headingPattern.exec(line);
  if (heading) {
    const level = (heading[1]?.length ?? 1) as 1;
    return { block: { type: 'heading', level, children: parseInline(heading[2] ?? '') }, end: at + 1 };
  }
  if (rulePattern.test(line)) return { block: { type: 'rule' }, end: at + 1 };
  if (depth < maxDepth && quotePattern.test(line)) return readQuote(lines, at, depth);
  if (depth < maxDepth && itemPattern.test(line)) return readList(lines, at, depth);
  if (line.includes('|') && dividerPattern.test(lines[at + 1] ?? '')) return readTable(lines, at);
  return readParagraph(lines, at);
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
  for (let match = quotePattern.exec(lines[end] ?? ''); match; match = quotePattern.exec(lines[end] ?? '')) {
    inner.push(match[1] ?? '');
    end += 1;
  }
  return { block: { type: 'quote', blocks: parseBlocks(inner.join('\n'), depth + 1) }, end };
}

function readList(lines: string[], at: number, depth: number): Read {
  const first = itemPattern.exec(lines[at] ?? '');
  const isOrdered = first?.[3] !== undefined;
  const items: string[][] = [];
  let indent = 0;
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? '';
    const item = itemPattern.exec(line);
    const belongs = items.length > 0 && line.search(/\S/) >= indent;
    if (item && !belongs && (item[3] !== undefined) === isOrdered) {
      indent = (item[1]?.length ?? 0) + (item[2]?.length ?? 0) + 1;
      items.push([item[5] ?? '']);
    } else if (line.trim() === '' || belongs) items.at(-1)?.push(line.slice(indent));
    else if (item || lines[end - 1]?.trim() === '') break;
    else items.at(-1)?.push(line);
  }
  const start = isOrdered ? Number(first?.[3]) : undefined;
  return { block: { type: 'list', start, items: items.map((item) => parseBlocks(item.join('\n'), depth + 1)) }, end };
}

function readTable(lines: string[], at: number): Read {
  const toCells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => parseInline(cell.trim()));
  let end = at + 2;
  while (end < lines.length && lines[end]?.includes('|')) end += 1;
  const [head = '', , ...rows] = lines.slice(at, end);
  return { block: { type: 'table', head: toCells(head), rows: rows.map(toCells) }, end };
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
    [fencePattern, headingPattern, rulePattern, quotePattern, itemPattern].some((pattern) => pattern.test(line))
  );
}
