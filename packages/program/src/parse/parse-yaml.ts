import { isMap, isScalar, LineCounter, type Node, type Pair, parseDocument, visit, type YAMLMap } from 'yaml';
import type { Fault } from '../values/fault.ts';

export type YamlFile = ReturnType<typeof parseYaml>;

export function parseYaml(file: string, source: string) {
  const counter = new LineCounter();
  const document = parseDocument(source, { lineCounter: counter, prettyErrors: false, uniqueKeys: false });
  const lineAt = (offset: number | undefined) => (offset === undefined ? 1 : counter.linePos(offset).line || 1);
  const faultAt = (offset: number | undefined, message: string): Fault => ({ file, line: lineAt(offset), message });
  // Errors after the first are its consequences.
  const [error] = document.errors;
  const faults = (error ? [error] : document.warnings).map(({ pos, message }) =>
    faultAt(pos[0], error && isInBraces(source, pos[0]) ? `${message}. ${needsQuotes}` : message),
  );
  // The parser compares each key with all others, which takes seconds where there are many.
  visit(document, {
    // A small file must not unfold into a huge one.
    Alias(_, { source, range }) {
      const remedy = 'Put quotes around a text that begins with *.';
      faults.push(faultAt(range?.[0], `*${source}: aliases are not read. ${remedy}`));
      return visit.BREAK;
    },
    Map(_, { items, flow }) {
      const seen = new Set<unknown>();
      for (const { key, value } of items) {
        if (!error && flow && isScalar(value) && value.type === 'PLAIN' && isCut(String(value.value)))
          faults.push(faultAt(value.range?.[0], `${value.value}: ends at a comma. ${needsQuotes}`));
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) faults.push(faultAt(key.range?.[0], 'this key is defined twice: keep one of the two'));
        seen.add(key.value);
      }
    },
  });
  const value: unknown = faults.length === 0 ? document.toJS() : undefined;
  const lineOf = (path: readonly PropertyKey[]) => lineAt(startOf(document.contents, path));
  const fault = (path: readonly PropertyKey[], message: string): Fault => ({ file, line: lineOf(path), message });
  return { file, value, faults, lineOf, fault };
}

const needsQuotes =
  "Put quotes around expressions with commas, brackets or braces inside { }, as in { total: 'sum(rows.map(row, row.amount))' }.";

const isInBraces = (source: string, at: number) => source.slice(source.lastIndexOf('\n', at - 1) + 1, at).includes('{');

/** A parenthesis that is not closed: YAML took the comma in it for the end. */
const isCut = (text: string) => text.split('(').length > text.split(')').length;

const pairs = new WeakMap<YAMLMap, Map<string, Pair>>();

/** The first pair of each key, cached, because a file may have thousands of faults. */
function pairsOf(map: YAMLMap): Map<string, Pair> {
  const scalars = () =>
    map.items.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : []));
  const found = pairs.get(map) ?? new Map(scalars().reverse());
  pairs.set(map, found);
  return found;
}

function startOf(contents: unknown, path: readonly PropertyKey[]): number | undefined {
  let node = contents as Node | null;
  let at = node?.range?.[0];
  for (const step of path) {
    if (isMap(node)) {
      const pair = pairsOf(node).get(String(step));
      if (!pair) return at;
      at = (pair.key as Node).range?.[0] ?? at;
      node = pair.value as Node | null;
    } else if (node && 'items' in node && typeof step === 'number') {
      node = ((node.items as unknown[])[step] as Node | undefined) ?? null;
      at = node?.range?.[0] ?? at;
    } else return at;
  }
  return at;
}
