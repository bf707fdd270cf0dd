import { serviceCodePattern } from '@palaver/contract/internal';
import {
  type Fault,
  type Menu,
  type ProgramSource,
  parseYaml,
  programFile,
  type State,
  sayIssue,
} from '@palaver/program/internal';
import { z } from 'zod';

export type ProgramFileMap = Readonly<Record<string, string>>;

/** The largest public form that a phone can fill in has 1.6 MB. */
export const programLimits = { files: 200, fileBytes: 2_000_000, bytes: 8_000_000 } as const;

export function sizeFault(files: readonly { path: string; bytes: number }[]) {
  const large = files.find(({ bytes }) => bytes > programLimits.fileBytes);
  if (large)
    return { path: large.path, message: `has ${large.bytes} bytes: a file has at most ${programLimits.fileBytes}` };
  const sum = files.reduce((all, { bytes }) => all + bytes, 0);
  if (sum <= programLimits.bytes) return undefined;
  return { message: `the files have ${sum} bytes together: a program has at most ${programLimits.bytes}` };
}

const filePath =
  /^(?:[\w-]{1,60}\.ya?ml|locales\/[\w-]{1,35}\.ya?ml|data\/[\w.-]{1,80}\.(?:csv|json)|forms\/[\w.-]{1,80}\.(?:xml|csv|geojson)|flows\/[\w.-]{1,80}\.ya?ml)$/;

const pathHint = 'a path such as program.yaml, locales/en.yaml, data/markets.csv, of letters, digits, _ and -';

const documented = {
  propertyNames: { pattern: filePath.source },
  minProperties: 1,
  maxProperties: programLimits.files,
};

export const programFilesSchema = z
  .record(z.string(), z.string())
  .meta(documented)
  .superRefine((files, context) => {
    const refuse = (message: string, ...path: string[]) => context.addIssue({ code: 'custom', message, path });
    for (const path of Object.keys(files)) if (!filePath.test(path)) refuse(pathHint, path);
    const entries = Object.entries(files);
    if (entries.length === 0 || entries.length > programLimits.files) refuse(`1 to ${programLimits.files} files`);
    const large = sizeFault(entries.map(([path, text]) => ({ path, bytes: Buffer.byteLength(text) })));
    if (large) refuse(large.message, ...(large.path === undefined ? [] : [large.path]));
    if (entries.some(([, text]) => text.includes('\0'))) refuse('files are texts');
  });

export function toSource(name: string, files: ProgramFileMap): ProgramSource {
  const entries = Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
  return { name, files: entries.map(([path, text]) => ({ file: path, path, text })) };
}

export function fromSource({ files }: ProgramSource): Record<string, string> {
  return Object.fromEntries(files.map(({ path, text }) => [path, text]));
}

/** The files need not be a program; only the line of the title is parsed, since a draft may be large. */
export function titleOf(files: ProgramFileMap): string | null {
  const [line = ''] = /^title:.{1,200}$/m.exec(files[programFile] ?? '') ?? [];
  const { title } =
    z.object({ title: z.string().min(1).max(80) }).safeParse(parseYaml(programFile, line).value).data ?? {};
  return title ?? null;
}

/** Handled whatever the program, if a text message says only this. */
export const stopWords: ReadonlySet<string> = new Set([
  'STOP',
  'STOPALL',
  'UNSUBSCRIBE',
  'QUIT',
  'END',
  'ARRET',
  'ACHA',
]);
export const startWords: ReadonlySet<string> = new Set(['START', 'UNSTOP']);
const serviceWords = new Set([...stopWords, ...startWords]);

const schema = z.strictObject({
  codes: z.array(z.string().regex(serviceCodePattern, 'must be a USSD code such as "*384*7#"')).default([]),
  /** Texts that open the program by SMS. */
  keywords: z
    .array(z.string().regex(/^[\p{L}\d]{2,20}$/u, 'must be one word of letters and digits, such as maize'))
    .max(20)
    .default([])
    .refine(
      (words) => !words.some((word) => serviceWords.has(word.toUpperCase())),
      'STOP and START have a meaning of their own',
    ),
});

/** None means every code that no other program names. */
export function codesOf({ channel }: Menu): readonly string[] {
  return schema.safeParse(channel).data?.codes ?? [];
}

/** In capitals, as texts are compared with them. */
export function keywordsOf({ channel }: Menu): readonly string[] {
  return schema.safeParse(channel).data?.keywords.map((word) => word.toUpperCase()) ?? [];
}

export const asksSecret = (state: State | undefined): boolean => state?.kind === 'prompt' && state.secret;

export function checkCodes({ channel }: Menu, { files }: ProgramSource): Fault[] {
  const { error } = schema.safeParse(channel);
  const file = files.find(({ path }) => path === programFile);
  if (!error || !file) return [];
  const { fault } = parseYaml(file.file, file.text);
  return error.issues.map((issue) => fault(issue.path, sayIssue(issue, channel, schema)));
}
