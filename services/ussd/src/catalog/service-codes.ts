import { serviceCodePattern } from '@palaver/contract/internal';
import { type Fault, type Menu, type ProgramSource, parseYaml, programFile, sayIssue } from '@palaver/program/internal';
import { z } from 'zod';

const schema = z.strictObject({
  codes: z.array(z.string().regex(serviceCodePattern, 'must be a USSD code such as "*384*7#"')).default([]),
});

/** The service codes that a program answers; none of its own means every code that no other program names. */
export function codesOf({ channel }: Menu): readonly string[] {
  return schema.safeParse({ codes: channel.codes }).data?.codes ?? [];
}

/** What is wrong with the codes of a program, if anything. */
export function checkCodes({ channel }: Menu, { files }: ProgramSource): Fault[] {
  const { error } = schema.safeParse({ codes: channel.codes });
  const file = files.find(({ path }) => path === programFile);
  if (!error || !file) return [];
  const { fault } = parseYaml(file.file, file.text);
  return error.issues.map((issue) => fault(issue.path, sayIssue(issue, channel, schema)));
}
