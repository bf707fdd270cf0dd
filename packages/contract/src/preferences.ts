import { z } from 'zod';
import { boundedText } from './bounded-text.ts';
import { toLanguageTag } from './language-tag.ts';
import { preferenceLimits } from './limits.ts';
import { timestampSchema } from './primitives.ts';

const shortText = boundedText(1, preferenceLimits.textCharacters);
const formalitySchema = z.enum(['casual', 'neutral', 'formal']);

export const languageTagSchema = z
  .string()
  .refine((text) => toLanguageTag(text) !== undefined, { error: 'must be a BCP 47 tag, for example sw', abort: true })
  .overwrite((text) => toLanguageTag(text) ?? text)
  .meta({ id: 'LanguageTag', description: 'A BCP 47 language tag in canonical form.', examples: ['fr', 'pt-BR'] });

// Field by field with its description: they are also what the model reads as the tool's arguments.
const freeTextFields = {
  agentName: shortText.meta({ description: 'What the user calls the agent.' }),
  userName: shortText.meta({ description: 'What the agent calls the user.' }),
  tone: shortText.meta({ description: 'For example friendly, dry, encouraging.' }),
  length: shortText.meta({ description: 'How long answers should be, for example brief.' }),
  format: shortText.meta({ description: 'For example plain text, bullet points.' }),
  formality: formalitySchema,
  customInstructions: boundedText(1, preferenceLimits.customInstructionsCharacters).meta({
    description: 'Anything else to keep to in every answer.',
  }),
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
    language: clearable(shortText.meta({ description: 'A BCP 47 tag, or the name of a language such as French.' })),
    tone: clearable(freeTextFields.tone),
    length: clearable(freeTextFields.length),
    format: clearable(freeTextFields.format),
    formality: clearable(freeTextFields.formality),
    customInstructions: clearable(freeTextFields.customInstructions),
  })
  // No `id`: model providers want the arguments of a tool as an object in place, not as a reference.
  .meta({ description: 'Merged into what is stored; null clears one preference.' });

export type SetUserPreferences = z.infer<typeof setUserPreferencesSchema>;
