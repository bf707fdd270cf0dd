import { z } from 'zod';
import { named, offsetPageFields, timestampSchema } from './primitives.ts';

export const resultSources = ['records', 'forms', 'messages'] as const;
export const deliveryStatuses = ['stored', 'queued', 'sending', 'sent', 'failed'] as const;

const sourceSchema = z.enum(resultSources);
const deliveryStatusSchema = z.enum(deliveryStatuses);

const listedSetSchema = z.object({
  source: sourceSchema,
  name: z.string(),
  count: z.int(),
  statuses: z
    .partialRecord(deliveryStatusSchema, z.int())
    .describe('How many there are of each delivery status; records are not delivered.'),
});

export const resultSetsSchema = named('UssdResultSets', 'What a program has collected and sent, by kind.', {
  sets: z.array(listedSetSchema),
});

const resultSchema = z.object({
  id: z.string(),
  createdAt: timestampSchema,
  values: z.record(z.string(), z.string()),
  delivery: z.object({ status: deliveryStatusSchema, attempts: z.int(), fault: z.string().nullable() }).optional(),
});

const callerNameSchema = z.object({
  caller: z.string().describe('A reference to the phone number, for the routes of callers.'),
  maskedNumber: z.string(),
});

const listedResultSchema = resultSchema.extend(callerNameSchema.shape);

export const resultPageSchema = named('UssdResultPage', 'Results, the newest first.', {
  results: z.array(listedResultSchema),
  isPartial: z.boolean().describe('Values were compared in the newest results only.'),
  ...offsetPageFields,
});

const dayCountSchema = z.object({ day: z.string(), count: z.int() });
const questionFields = { name: z.string(), answered: z.int() };

const questionSchema = z
  .discriminatedUnion('kind', [
    z.object({
      ...questionFields,
      kind: z.literal('choices'),
      values: z.array(z.object({ value: z.string(), count: z.int() })),
      others: z.int(),
    }),
    z.object({
      ...questionFields,
      kind: z.literal('numbers'),
      bins: z.array(z.object({ from: z.number(), to: z.number(), count: z.int() })),
      median: z.number(),
      mean: z.number(),
    }),
    z.object({ ...questionFields, kind: z.literal('dates'), days: z.array(dayCountSchema) }),
    z.object({ ...questionFields, kind: z.literal('texts'), distinct: z.int() }),
  ])
  .describe('The answers to one question, in the form that shows most of them.');

export const resultSummarySchema = named('UssdResultSummary', 'Results by day, and the answers to every question.', {
  count: z.int().describe('How many results were read.'),
  days: z.array(dayCountSchema),
  questions: z.array(questionSchema),
  isPartial: z.boolean(),
});

export const recentCallersSchema = named('UssdRecentCallers', 'Who called last, each number once.', {
  callers: z.array(callerNameSchema.extend({ serviceCode: z.string(), seenAt: timestampSchema })),
});

const callerOverviewSchema = z.object({
  account: z
    .object({
      name: z.string(),
      createdAt: timestampSchema,
      lock: z.enum(['none', 'for a time', 'until unlocked']),
      failedPins: z.int(),
      address: z.string().nullable().describe('Shortened.'),
      hasWallet: z.boolean(),
    })
    .nullable(),
  language: z.string().nullable(),
  sessions: z.array(
    z.object({
      id: z.string(),
      serviceCode: z.string(),
      program: z.string().nullable(),
      state: z.string().nullable(),
      status: z.enum(['active', 'ended', 'expired', 'texting']),
      openedAt: timestampSchema,
      seenAt: timestampSchema,
    }),
  ),
  results: z.array(resultSchema.extend({ program: z.string(), source: sourceSchema, name: z.string() })),
});

export const callerSchema = callerNameSchema
  .extend(callerOverviewSchema.shape)
  .meta({ id: 'UssdCaller', description: 'The newest of everything kept of a phone number.' });

export type ResultSource = z.infer<typeof sourceSchema>;
export type DeliveryStatus = z.infer<typeof deliveryStatusSchema>;
export type ListedSet = z.infer<typeof listedSetSchema>;
export type UssdResult = z.infer<typeof resultSchema>;
export type ListedResult = z.infer<typeof listedResultSchema>;
export type ResultPage = z.infer<typeof resultPageSchema>;
export type DayCount = z.infer<typeof dayCountSchema>;
export type QuestionSummary = z.infer<typeof questionSchema>;
export type ResultSummary = z.infer<typeof resultSummarySchema>;
export type RecentCallers = z.infer<typeof recentCallersSchema>;
export type CallerOverview = z.infer<typeof callerOverviewSchema>;
export type UssdCaller = z.infer<typeof callerSchema>;
