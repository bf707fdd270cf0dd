import { z } from 'zod';
import { named, timestampSchema } from './primitives.ts';

const programFilesSchema = z.record(z.string(), z.string()).describe('Texts by the path of their file.');

const listedProgramSchema = z.object({
  name: z.string(),
  title: z.string().nullable().describe('Its name for people: that of the draft, if there is one.'),
  version: z.string().nullable().describe('The version in use.'),
  codes: z.array(z.string()),
  languages: z.array(z.string()),
  isPublished: z.boolean().describe('Whether the version in use was published, and did not come with the start.'),
  published: z.string().nullable(),
  draft: z.object({ revision: z.int(), updatedAt: timestampSchema, updatedBy: z.string() }).nullable(),
});

export const listedProgramsSchema = named('UssdPrograms', 'The programs of the USSD gateway.', {
  programs: z.array(listedProgramSchema),
  readOnly: z.boolean(),
  role: z.enum(['viewer', 'operator', 'admin']).optional().describe('Of whoever asks.'),
});

export const programDraftSchema = z
  .object({
    name: z.string(),
    files: programFilesSchema,
    revision: z.int().describe('Counts saves: one that does not follow the revision it read is refused.'),
    updatedAt: timestampSchema.nullable(),
    updatedBy: z.string().nullable(),
  })
  .meta({
    id: 'UssdProgramDraft',
    description: 'The draft of a program; without one, the files of the version in use.',
  });

export const programVersionsSchema = z
  .object({
    versions: z.array(
      z.object({
        version: z.string(),
        usedAt: timestampSchema.describe('When it was last taken into use.'),
        publishedAt: timestampSchema.nullable(),
        publishedBy: z.string().nullable(),
        note: z.string().nullable(),
        replaced: z.string().nullable().describe('The version in use when this one was published.'),
        isCurrent: z.boolean(),
      }),
    ),
  })
  .meta({
    id: 'UssdProgramVersions',
    description: 'The versions of a program that are kept, the one used last first.',
  });

const problemSchema = z.object({
  file: z.string(),
  line: z.number(),
  state: z.string().optional(),
  message: z.string(),
});

export const programReportSchema = z
  .object({ ok: z.boolean(), faults: z.array(problemSchema), warnings: z.array(problemSchema) })
  .meta({ id: 'UssdProgramReport', description: 'What a check of a program has found.' });

const rawMessageSchema = z.object({ contentType: z.string(), body: z.string() });

export const triedCallSchema = named('UssdTriedCall', 'A call played on a draft.', {
  screen: z.string(),
  ended: z.boolean(),
  state: z.string(),
  language: z.string(),
  values: z.record(z.string(), z.string()),
  actions: z
    .array(z.object({ state: z.string(), action: z.string(), outcome: z.string(), outcomes: z.array(z.string()) }))
    .describe('What the program would have done, with made-up results.'),
  serviceCode: z.string().describe('The code that reaches the program.'),
  exchange: z
    .object({ path: z.string(), request: rawMessageSchema, reply: rawMessageSchema })
    .describe('A request of a telecom gateway and its reply, byte for byte.'),
});

export const convertedFormSchema = named('UssdConvertedForm', 'An XLSForm as the XML that a program keeps.', {
  xml: z.string(),
});

const countsSchema = z.object({
  shown: z.number(),
  answered: z.number(),
  refused: z.number(),
  back: z.number(),
  exited: z.number(),
  timedOut: z.number(),
  medianSeconds: z
    .number()
    .nullable()
    .describe('The median time to an answer, estimated from intervals; null where nobody has answered.'),
});
const callsSchema = z.object({
  calls: z.number(),
  returning: z.number(),
  texting: z.number().describe('Those by text message.'),
});

export const programStatsSchema = named('UssdProgramStats', 'How callers move through a program.', {
  name: z.string(),
  from: z.iso.date(),
  to: z.iso.date(),
  states: z.array(countsSchema.extend({ state: z.string() })),
  days: z.array(countsSchema.extend({ day: z.iso.date(), ...callsSchema.shape })),
  languages: z.array(countsSchema.extend({ language: z.string() })),
  versions: z.array(callsSchema.extend({ version: z.string() })),
});

export type ProgramFiles = Readonly<z.infer<typeof programFilesSchema>>;
export type ListedProgram = z.infer<typeof listedProgramSchema>;
export type ListedPrograms = z.infer<typeof listedProgramsSchema>;
export type ProgramDraft = z.infer<typeof programDraftSchema>;
export type ProgramVersions = z.infer<typeof programVersionsSchema>;
export type ProgramProblem = z.infer<typeof problemSchema>;
export type ProgramReport = z.infer<typeof programReportSchema>;
export type ConvertedForm = z.infer<typeof convertedFormSchema>;
export type TriedCall = z.infer<typeof triedCallSchema>;
export type StateCounts = z.infer<typeof countsSchema>;
export type ProgramStats = z.infer<typeof programStatsSchema>;
