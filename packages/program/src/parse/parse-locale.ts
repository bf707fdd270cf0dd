import type { Fault } from '../values/fault.ts';
import { parseYaml } from './parse-yaml.ts';

export interface LocaleFile {
  file: string;
  language: string;
  texts: Map<string, string>;
  /** The texts that are not the program's own. */
  inherited?: ReadonlyMap<string, string> | undefined;
  lineOf(key: string): number;
  /** Something wrong with a text. */
  fault(key: string, message: string): Fault;
  faults: Fault[];
}

/** Reads `en.yaml`: nested maps of texts, whose keys are joined by dots. */
export function parseLocale(file: string, language: string, source: string): LocaleFile {
  const yaml = parseYaml(file, source);
  const texts = new Map<string, string>();
  const faults = [...yaml.faults];
  const collect = (value: unknown, path: string[]) => {
    if (typeof value === 'string' && path.length > 0) texts.set(path.join('.'), value.trim());
    else if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const [key, inner] of Object.entries(value)) collect(inner, [...path, key]);
    else
      faults.push(
        yaml.fault(path, path.length > 0 ? `${path.join('.')} is not a text` : 'a locale file is a map of texts'),
      );
  };
  if (yaml.faults.length === 0) collect(yaml.value, []);
  const lineOf = (key: string) => yaml.lineOf(key.split('.'));
  return { file, language, texts, lineOf, fault: (key, message) => yaml.fault(key.split('.'), message), faults };
}
