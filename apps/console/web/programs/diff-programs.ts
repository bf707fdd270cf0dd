import type { ProgramFiles } from './program-api.ts';
import { type ProgramModel, readProgram } from './read-program.ts';

export type ProgramDiff = ReturnType<typeof diffPrograms>;

export type ProgramChange =
  | { is: 'isNew' | 'isRemoved'; name: string; kind: string }
  | { is: 'differs'; name: string; fields: string[] }
  | { is: 'newLanguage'; language: string }
  | { is: 'newText'; language: string; key: string; text: string }
  | { is: 'changedText'; language: string; was: string; text: string }
  | { is: 'changedFile'; path: string }
  | { is: 'onlySettings' };

export function diffPrograms(before: ProgramFiles, after: ProgramFiles) {
  const [one, other] = [readProgram(before), readProgram(after)];
  const added = [...other.states.keys()].filter((name) => !one.states.has(name));
  const removed = [...one.states.keys()].filter((name) => !other.states.has(name));
  const kindIn = (model: ProgramModel, name: string) => model.states.get(name)?.kind ?? '';
  const changes: ProgramChange[] = [
    ...added.map((name) => ({ is: 'isNew' as const, name, kind: kindIn(other, name) })),
    ...removed.map((name) => ({ is: 'isRemoved' as const, name, kind: kindIn(one, name) })),
  ];
  const changed = new Set<string>();
  for (const [name, { raw }] of other.states) {
    const earlier = one.states.get(name)?.raw;
    if (!earlier) continue;
    const fields = new Set([...Object.keys(raw), ...Object.keys(earlier)]);
    const differing = [...fields].filter((field) => JSON.stringify(raw[field]) !== JSON.stringify(earlier[field]));
    if (differing.length === 0) continue;
    changed.add(name);
    changes.push({ is: 'differs', name, fields: differing });
  }
  for (const [language, texts] of other.texts) {
    const earlier = one.texts.get(language);
    if (!earlier) changes.push({ is: 'newLanguage', language });
    for (const [key, text] of texts) {
      const was = earlier?.get(key);
      if (was === text || (was === undefined && !earlier)) continue;
      changes.push(
        was === undefined ? { is: 'newText', language, key, text } : { is: 'changedText', language, was, text },
      );
      for (const [name, { raw }] of other.states)
        if (one.states.has(name) && JSON.stringify(raw).includes(`"${key}"`)) changed.add(name);
    }
  }
  const rest = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const path of rest)
    if (/^(data|forms|flows)\//.test(path) && before[path] !== after[path]) changes.push({ is: 'changedFile', path });
  if (changes.length === 0 && JSON.stringify(before) !== JSON.stringify(after)) changes.push({ is: 'onlySettings' });
  return { added, removed, changed: [...changed], changes };
}
