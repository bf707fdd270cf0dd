import type { ProgramFiles } from './program-api.ts';
import { readProgram } from './read-program.ts';

export interface ProgramDiff {
  added: string[];
  removed: string[];
  changed: string[];
  /** In words, one for each change. */
  words: string[];
}

/** What a draft changes, as a person would say it. */
export function diffPrograms(before: ProgramFiles, after: ProgramFiles): ProgramDiff {
  const [one, other] = [readProgram(before), readProgram(after)];
  const added = [...other.states.keys()].filter((name) => !one.states.has(name));
  const removed = [...one.states.keys()].filter((name) => !other.states.has(name));
  const words = [
    ...added.map((name) => `The ${other.states.get(name)?.kind} ${name} is new.`),
    ...removed.map((name) => `The ${one.states.get(name)?.kind} ${name} is removed.`),
  ];
  const changed = new Set<string>();
  for (const [name, { raw }] of other.states) {
    const earlier = one.states.get(name)?.raw;
    if (!earlier) continue;
    const fields = new Set([...Object.keys(raw), ...Object.keys(earlier)]);
    const differing = [...fields].filter((field) => JSON.stringify(raw[field]) !== JSON.stringify(earlier[field]));
    if (differing.length === 0) continue;
    changed.add(name);
    words.push(`${name}: ${differing.join(', ')} ${differing.length === 1 ? 'is' : 'are'} different.`);
  }
  for (const [language, texts] of other.texts) {
    const earlier = one.texts.get(language);
    if (!earlier) words.push(`The language ${language} is new.`);
    for (const [key, text] of texts) {
      const was = earlier?.get(key);
      if (was === text || (was === undefined && !earlier)) continue;
      words.push(was === undefined ? `${language}: ${key} is “${text}”.` : `${language}: “${was}” becomes “${text}”.`);
      for (const [name, { raw }] of other.states)
        if (one.states.has(name) && JSON.stringify(raw).includes(`"${key}"`)) changed.add(name);
    }
  }
  const rest = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const path of rest)
    if (/^(data|forms|flows)\//.test(path) && before[path] !== after[path])
      words.push(`The file ${path} is different.`);
  if (words.length === 0 && JSON.stringify(before) !== JSON.stringify(after))
    words.push('Only comments or settings differ.');
  return { added, removed, changed: [...changed], words };
}
