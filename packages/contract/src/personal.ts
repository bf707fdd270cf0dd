import { z } from 'zod';
import { memoryLimits, preferenceLimits } from './limits.ts';
import {
  boundedText,
  named,
  offsetPageFields,
  offsetPageQuerySchema,
  timestampSchema,
  timeZoneSchema,
} from './primitives.ts';
import { toLanguageTag } from './texts.ts';

const memoryKindSchema = z
  .enum(['fact', 'artifact'])
  .describe('`fact`: something about the user. `artifact`: something the agent made for them.');

const textField = boundedText(1, memoryLimits.textCharacters).describe('One thing in plain words.');

export const memorySchema = z
  .object({ id: z.string(), text: z.string(), kind: memoryKindSchema, createdAt: timestampSchema })
  .meta({ id: 'Memory', description: 'Something the agent remembers of this user.' });

export type Memory = z.infer<typeof memorySchema>;

export const createMemorySchema = z
  .object({ text: textField, kind: memoryKindSchema.default('fact') })
  .meta({ id: 'CreateMemory', description: 'Something to remember from now on.' });

export type CreateMemory = z.infer<typeof createMemorySchema>;

const queryField = boundedText(1, memoryLimits.queryCharacters).describe('Words to look for.');

export const memoryQuerySchema = offsetPageQuerySchema
  .extend({ query: queryField.optional() })
  .describe('A page of what is remembered; the best matches first, without words to look for the newest.');

export const memoryListSchema = z
  .object({ memories: z.array(memorySchema), ...offsetPageFields })
  .meta({ id: 'MemoryList', description: 'What the agent remembers of this user.' });

export type MemoryList = z.infer<typeof memoryListSchema>;

export const memoryParamsSchema = z.object({ id: z.string().min(1) }).describe('The memory a route is about.');

export const memoryDeletedSchema = named('MemoryDeleted', 'It is forgotten.', { ok: z.literal(true) });

const shortText = boundedText(1, preferenceLimits.textCharacters);
const formalitySchema = z.enum(['casual', 'neutral', 'formal']);

export const languageTagSchema = z
  .string()
  .refine((text) => toLanguageTag(text) !== undefined, { error: 'must be a BCP 47 tag, for example sw', abort: true })
  .overwrite((text) => toLanguageTag(text) ?? text)
  .meta({ id: 'LanguageTag', description: 'A BCP 47 language tag in canonical form.', examples: ['fr', 'pt-BR'] });

// Field by field with its description: they are also what the model reads as the tool's arguments.
const freeTextFields = {
  agentName: shortText.describe('What the user calls the agent.'),
  userName: shortText.describe('What the agent calls the user.'),
  tone: shortText.describe('For example friendly, dry, encouraging.'),
  length: shortText.describe('How long answers should be, for example brief.'),
  format: shortText.describe('For example plain text, bullet points.'),
  formality: formalitySchema,
  customInstructions: boundedText(1, preferenceLimits.customInstructionsCharacters).describe(
    'Anything else to keep to in every answer.',
  ),
};

const preferenceRecordSchema = z.object({
  ...freeTextFields,
  language: languageTagSchema,
  updatedAt: timestampSchema,
});

export const userPreferencesSchema = preferenceRecordSchema
  .partial()
  .meta({ id: 'UserPreferences', description: 'How the user wants to be answered; empty when nothing was set.' });

export type UserPreferences = z.infer<typeof userPreferencesSchema>;

export const userPreferencesReplySchema = z
  .object({ preferences: userPreferencesSchema })
  .meta({ id: 'UserPreferencesReply', description: 'The preferences of this user with this agent.' });

const clearable = <S extends z.ZodType>(schema: S) => schema.nullable().optional();

export const setUserPreferencesSchema = z
  .object({
    agentName: clearable(freeTextFields.agentName),
    userName: clearable(freeTextFields.userName),
    language: clearable(shortText.describe('A BCP 47 tag, or the name of a language such as French.')),
    tone: clearable(freeTextFields.tone),
    length: clearable(freeTextFields.length),
    format: clearable(freeTextFields.format),
    formality: clearable(freeTextFields.formality),
    customInstructions: clearable(freeTextFields.customInstructions),
  })
  // No `id`: model providers want the arguments of a tool as an object in place, not as a reference.
  .describe('Merged into what is stored; null clears one preference.');

export type SetUserPreferences = z.infer<typeof setUserPreferencesSchema>;

export const scheduledMessagePrefix = '[Scheduled task]';

export const taskSchema = named('Task', 'A prompt the agent will carry out at its time.', {
  id: z.string(),
  sessionId: z.string().describe('Where the answer lands.'),
  prompt: z.string(),
  schedule: z.string().meta({ description: 'In words.', examples: ['every 2 hours', 'cron 0 9 * * 1'] }),
  timezone: timeZoneSchema,
  status: z.enum(['active', 'done', 'failed', 'cancelled']),
  nextRunAt: timestampSchema.nullable(),
  lastRunAt: timestampSchema.nullable(),
  createdAt: timestampSchema,
});

/** A prompt that the agent will carry out at its time. */
export type Task = z.infer<typeof taskSchema>;

export const taskListSchema = z
  .object({ tasks: z.array(taskSchema), ...offsetPageFields })
  .meta({ id: 'TaskList', description: 'The active tasks of this user, the next to run first.' });

export type TaskList = z.infer<typeof taskListSchema>;

export const taskParamsSchema = z.object({ id: z.string().min(1) }).describe('The task a route is about.');

export const taskCancelledSchema = named('TaskCancelled', 'It will not run again.', { ok: z.literal(true) });
