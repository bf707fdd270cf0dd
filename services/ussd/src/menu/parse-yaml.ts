import { isMap, isScalar, LineCounter, type Node, type Pair, parseDocument, visit, type YAMLMap } from 'yaml';
import type { Fault } from './fault.ts';

/** A YAML file as plain values, with the line of everything in it. */
export interface YamlFile {
  file: string;
  value: unknown;
  lineOf(path: readonly PropertyKey[]): number;
  faults: Fault[];
}

export function parseYaml(file: string, source: string): YamlFile {
  const counter = new LineCounter();
  // Aliases are refused by the limit: a small file must not unfold into a huge one.
  const document = parseDocument(source, { lineCounter: counter, prettyErrors: false, uniqueKeys: false });
  const lineAt = (offset: number | undefined) => (offset === undefined ? 1 : counter.linePos(offset).line || 1);
  const faults = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    file,
    line: lineAt(pos[0]),
    message,
  }));
  // The parser compares each key with all others, which takes seconds where there are many.
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value))
          faults.push({ file, line: lineAt(key.range?.[0]), message: 'this key is defined twice' });
        seen.add(key.value);
      }
    },
  });
  let value: unknown;
  try {
    value = faults.length === 0 ? document.toJS({ maxAliasCount: 0 }) : undefined;
  } catch (error) {
    faults.push({ file, line: 1, message: error instanceof Error ? error.message : String(error) });
  }
  return { file, value, faults, lineOf: (path) => lineAt(startOf(document.contents, path)) };
}

const pairs = new WeakMap<YAMLMap, Map<string, Pair>>();

/** The first pair of each key: a file may have a fault at every one of many thousand. */
function pairsOf(map: YAMLMap): Map<string, Pair> {
  const known = pairs.get(map);
  if (known) return known;
  const scalars = map.items.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair] as const] : []));
  const found = new Map(scalars.reverse());
  pairs.set(map, found);
  return found;
}

/** The offset of the deepest node that exists on the path; for a pair, of its key. */
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
