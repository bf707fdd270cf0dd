import { z } from 'zod';
import { defineAction, expressionSchema, textKeySchema } from './keyword.ts';

export const sms = defineAction({
  about: 'Sends a text to the caller, or to the number that an expression gives.',
  schema: z.strictObject({
    sms: z
      .strictObject({ text: textKeySchema, number: expressionSchema.default('caller.phone') })
      .meta({ description: '`text`: a key of the locales; `number`: an expression, the caller by default' }),
  }),
  outcomes: {
    queued: 'the message is stored and will be sent',
    refused: 'the number is invalid, or the daily number of messages is used up',
  },
  finishes: true,
  editor: {
    title: 'Send an SMS',
    draft: { sms: { text: '{name}.text' }, outcomes: { queued: '{to}', refused: '{to}' } },
    texts: { '{name}.text': '{text}' },
    offers: { sms: { number: '' } },
  },
});
