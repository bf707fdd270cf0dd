import { z } from 'zod';
import { nameSchema } from '../actions/keyword.ts';
import { fieldTypes, type State } from '../model/menu.ts';
import { stateSchema } from '../states/states.ts';
import { parseYaml, type YamlFile } from './parse-yaml.ts';
import { programFile } from './program-source.ts';
import { sayIssue } from './say-issue.ts';

export interface PlacedState {
  state: State;
  file: string;
  line: number;
  inherited?: boolean;
  fault: YamlFile['fault'];
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

export interface MenuFile extends Omit<YamlFile, 'value'> {
  isProgram: boolean;
  header: FileHeader;
  states: Map<string, PlacedState>;
}

/** Reads the shape only: `checkMenu` checks the names. */
export function parseMenu(file: string, source: string, path = file): MenuFile {
  const { value, faults, ...yaml } = parseYaml(file, source);
  const isProgram = path === programFile;
  const states = new Map<string, PlacedState>();
  const say: Say = (path, message) => faults.push(yaml.fault(path, message));
  const shape = faults.length === 0 ? read(isProgram ? programSchema : fileSchema, value, say) : undefined;
  const { states: given = {}, ...header } = shape ?? {};
  for (const [name, value] of Object.entries(given)) {
    const place = ['states', name];
    const fault: YamlFile['fault'] = (path, message) => ({ ...yaml.fault([...place, ...path], message), state: name });
    const state = read(stateSchema, value, (path, message) => faults.push(fault(path, message)));
    if (state) states.set(name, { state, file, line: yaml.lineOf(place), fault });
  }
  return { ...yaml, faults, isProgram, header, states };
}

type Say = (path: readonly PropertyKey[], message: string) => void;

function read<Value>(schema: z.ZodType<Value>, value: unknown, say: Say): Value | undefined {
  const { error, data } = schema.safeParse(value);
  for (const issue of error?.issues ?? []) say(issue.path, sayIssue(issue, value, schema));
  return data;
}

export interface LocaleFile extends ReturnType<typeof parseLocale> {
  inherited?: ReadonlyMap<string, string> | undefined;
}

/** Reads `en.yaml`: nested maps of texts, whose keys are joined by dots. */
export function parseLocale(file: string, language: string, source: string) {
  const { value, faults, ...yaml } = parseYaml(file, source);
  const texts = new Map<string, string>();
  const collect = (value: unknown, path: string[]) => {
    const key = path.join('.');
    if (typeof value === 'string' && path.length > 0) texts.set(key, value.trim());
    else if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const [name, inner] of Object.entries(value)) collect(inner, [...path, name]);
    else if (path.length > 0) faults.push(yaml.fault(path, `${key} is not a text: put it in quotes`));
    else faults.push(yaml.fault(path, 'a locale file is a map of texts, such as home: Welcome'));
  };
  if (faults.length === 0) collect(value, []);
  const lineOf = (key: string) => yaml.lineOf(key.split('.'));
  const fault = (key: string, message: string) => yaml.fault(key.split('.'), message);
  return { file, language, texts, lineOf, fault, faults };
}
