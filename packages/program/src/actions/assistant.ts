import { z } from 'zod';
import { defineAction, expressionSchema, nameSchema } from './keyword.ts';

export const assistant = defineAction({
  about: 'Asks the assistant what an expression gives, and saves its answer.',
  schema: z.strictObject({
    assistant: expressionSchema.meta({ description: 'An expression that gives the question' }),
    save: nameSchema.default('answer').meta({ description: 'The name of the answer' }),
  }),
  outcomes: {
    answered: 'the answer is saved',
    waiting: 'it takes longer; the action `showAnswer` shows it later',
    unavailable: 'there is no assistant, or an account holder has not logged in',
  },
  finishes: true,
  signature: ({ save }) => ({ values: { [save]: 'text' } }),
  editor: {
    title: 'Ask the assistant',
    draft: {
      assistant: '"What is new?"',
      save: 'answer',
      outcomes: { answered: '{to}', waiting: '{to}', unavailable: '{to}' },
    },
  },
});
