import { z } from 'zod';
import { nameSchema } from '../actions/keyword.ts';
import { fieldTypes, type Records, type State } from '../model/menu.ts';
import { stateSchema } from '../states/states.ts';
import type { Fault } from '../values/fault.ts';
import { parseYaml } from './parse-yaml.ts';
import { programFile } from './program-source.ts';
import { sayIssue } from './say-issue.ts';

/** A state as one file gives it, with its place. */
export interface PlacedState {
  state: State;
  file: string;
  /** It is a state of the program that this one extends. */
  inherited?: boolean;
  lineOf(...path: PropertyKey[]): number;
}

/** What the file `program.yaml` says beside its states. */
export interface ProgramHeader {
  name: string;
  title?: string;
  codes?: unknown;
  extends?: 'palaver';
  languages?: string[];
  records: Records;
  secrets: string[];
}

export interface MenuFile {
  file: string;
  header?: ProgramHeader & { lineOf(...path: PropertyKey[]): number };
  start?: { name: string; line: number };
  exit?: { name: string; line: number };
  login?: { name: string; line: number };
  states: Map<string, PlacedState>;
  faults: Fault[];
}

const fileSchema = z.strictObject({
  start: nameSchema.exactOptional(),
  exit: nameSchema.exactOptional(),
  login: nameSchema.exactOptional(),
  states: z.record(nameSchema, z.unknown()),
});

const programSchema = fileSchema.extend({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be a name of small letters, digits and hyphens'),
  /** What people call it. */
  title: z.string().min(1).max(80).exactOptional(),
  /** For the channel, which checks them. */
  codes: z.unknown().optional(),
  extends: z.literal('palaver').exactOptional(),
  languages: z.array(z.string().min(1)).min(1).exactOptional(),
  records: z.record(nameSchema, z.record(nameSchema, z.enum(fieldTypes))).default({}),
  /** Names only; the values are variables of the environment, with USSD_SECRET_ before them. */
  secrets: z.array(z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'must be a name such as PRICES_TOKEN')).default([]),
  states: fileSchema.shape.states.default({}),
});

/** Reads the shape of one menu file. Whether its names lead anywhere is for `checkMenu`. */
export function parseMenu(file: string, source: string, path = file): MenuFile {
  const yaml = parseYaml(file, source);
  const result: MenuFile = { file, states: new Map(), faults: [...yaml.faults] };
  if (yaml.faults.length > 0) return result;
  const isProgram = path === programFile;
  const schema = isProgram ? programSchema : fileSchema;
  const shape = schema.safeParse(yaml.value);
  if (!shape.success) {
    const say = (issue: z.core.$ZodIssue) => sayIssue(issue, yaml.value, schema);
    result.faults.push(
      ...shape.error.issues.map((issue) => ({ file, line: yaml.lineOf(issue.path), message: say(issue) })),
    );
    return result;
  }
  const { start, exit, login, states, ...header } = shape.data;
  if (isProgram) result.header = { ...(header as ProgramHeader), lineOf: (...path) => yaml.lineOf(path) };
  if (start !== undefined) result.start = { name: start, line: yaml.lineOf(['start']) };
  if (exit !== undefined) result.exit = { name: exit, line: yaml.lineOf(['exit']) };
  if (login !== undefined) result.login = { name: login, line: yaml.lineOf(['login']) };
  for (const [name, value] of Object.entries(states)) {
    const lineOf = (...path: PropertyKey[]) => yaml.lineOf(['states', name, ...path]);
    const state = stateSchema.safeParse(value);
    if (state.success) result.states.set(name, { state: state.data, file, lineOf });
    else
      for (const issue of state.error.issues)
        result.faults.push({
          file,
          line: lineOf(...issue.path),
          state: name,
          message: sayIssue(issue, value, stateSchema),
        });
  }
  return result;
}
