import { z } from 'zod';
import { nameSchema } from '../actions/keyword.ts';
import { fieldTypes, type State } from '../model/menu.ts';
import { stateSchema } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';
import { parseYaml, type YamlFile } from './parse-yaml.ts';
import { programFile } from './program-source.ts';
import { sayIssue } from './say-issue.ts';

export interface PlacedState {
  state: State;
  file: string;
  inherited?: boolean;
  lineOf(...path: PropertyKey[]): number;
  fault(path: readonly PropertyKey[], message: string): Fault;
}

export type PlacedStates = ReadonlyMap<string, PlacedState>;

const fileSchema = z.strictObject({
  start: nameSchema.exactOptional(),
  exit: nameSchema.exactOptional(),
  login: nameSchema.exactOptional(),
  states: z.record(nameSchema, z.unknown()),
});

export const bundledProgram = 'palaver';

const programSchema = fileSchema.extend({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be a name of small letters, digits and hyphens'),
  title: z.string().min(1).max(80).exactOptional(),
  codes: z.unknown().optional(),
  keywords: z.unknown().optional(),
  extends: z.literal(bundledProgram).exactOptional(),
  languages: z.array(z.string().min(1)).min(1).exactOptional(),
  records: z.record(nameSchema, z.record(nameSchema, z.enum(fieldTypes))).default({}),
  /** Names only; the values are variables of the environment, with USSD_SECRET_ before them. */
  secrets: z.array(z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'must be a name such as PRICES_TOKEN')).default([]),
  states: fileSchema.shape.states.default({}),
});

/** What a file says beside its states; everything but the three names is in program.yaml only. */
export type FileHeader = Partial<Omit<z.infer<typeof programSchema>, 'states'>>;

export interface MenuFile extends Pick<YamlFile, 'file' | 'faults' | 'lineOf' | 'fault'> {
  isProgram: boolean;
  header: FileHeader;
  states: Map<string, PlacedState>;
}

/** Reads the shape of one menu file. `checkMenu` finds out whether its names lead anywhere. */
export function parseMenu(file: string, source: string, path = file): MenuFile {
  const yaml = parseYaml(file, source);
  const isProgram = path === programFile;
  const result: MenuFile = { ...yaml, isProgram, header: {}, states: new Map() };
  if (yaml.faults.length > 0) return result;
  const schema = isProgram ? programSchema : fileSchema;
  const shape = schema.safeParse(yaml.value);
  if (!shape.success) {
    for (const issue of shape.error.issues)
      result.faults.push(yaml.fault(issue.path, sayIssue(issue, yaml.value, schema)));
    return result;
  }
  const { states, ...header } = shape.data;
  result.header = header;
  for (const [name, value] of Object.entries(states)) {
    const lineOf = (...path: PropertyKey[]) => yaml.lineOf(['states', name, ...path]);
    const fault = (path: readonly PropertyKey[], message: string) => ({
      ...yaml.fault(['states', name, ...path], message),
      state: name,
    });
    const state = stateSchema.safeParse(value);
    if (state.success) result.states.set(name, { state: state.data, file, lineOf, fault });
    else
      for (const issue of state.error.issues)
        result.faults.push(fault(issue.path, sayIssue(issue, value, stateSchema)));
  }
  return result;
}

export interface LocaleFile extends ReturnType<typeof parseLocale> {
  inherited?: ReadonlyMap<string, string> | undefined;
}

/** Reads `en.yaml`: nested maps of texts, whose keys are joined by dots. */
export function parseLocale(file: string, language: string, source: string) {
  const yaml = parseYaml(file, source);
  const texts = new Map<string, string>();
  const faults = [...yaml.faults];
  const collect = (value: unknown, path: string[]) => {
    if (typeof value === 'string' && path.length > 0) texts.set(path.join('.'), value.trim());
    else if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const [key, inner] of Object.entries(value)) collect(inner, [...path, key]);
    else
      faults.push(
        yaml.fault(
          path,
          path.length > 0
            ? `${path.join('.')} is not a text: put it in quotes`
            : 'a locale file is a map of texts, such as home: Welcome',
        ),
      );
  };
  if (yaml.faults.length === 0) collect(yaml.value, []);
  const lineOf = (key: string) => yaml.lineOf(key.split('.'));
  const fault = (key: string, message: string) => yaml.fault(key.split('.'), message);
  return { file, language, texts, lineOf, fault, faults };
}
