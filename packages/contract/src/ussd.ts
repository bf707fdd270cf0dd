import { z } from 'zod';
import { ussdLimits } from './limits.ts';
import { noControlCharactersPattern, phoneNumberPattern, serviceCodePattern, visibleAsciiPattern } from './patterns.ts';
import { boundedText, offsetPageFields, timestampSchema } from './primitives.ts';

export const phoneNumberSchema = z
  .string()
  .regex(phoneNumberPattern, { error: 'must be an E.164 phone number, for example +254700000001' })
  .meta({ id: 'PhoneNumber', description: 'A phone number in E.164 form.', examples: ['+254700000001'] });

const sessionIdSchema = z
  .string()
  .max(ussdLimits.sessionIdCharacters)
  .regex(visibleAsciiPattern, { error: 'must be printable ASCII without spaces' });

export const ussdRequestSchema = z
  .object({
    sessionId: sessionIdSchema.meta({ description: 'Assigned by the telecom gateway.' }),
    serviceCode: z
      .string()
      .max(ussdLimits.serviceCodeCharacters)
      .regex(serviceCodePattern, { error: 'must be a USSD code, for example *1234#' })
      .meta({ examples: ['*1234#'] }),
    phoneNumber: phoneNumberSchema,
    text: boundedText(0, ussdLimits.textCharacters)
      .regex(noControlCharactersPattern, { error: 'must not contain control characters' })
      .meta({
        maxLength: ussdLimits.textCharacters,
        description: 'The whole input so far, parts separated by `*`; empty on the first dial.',
      }),
  })
  .meta({ id: 'UssdRequest', description: 'One user input of a USSD session.' });

export const ussdSessionParamsSchema = z
  .object({ sessionId: z.string() })
  .meta({ description: 'The session of a debug lookup.' });

export const ussdDebugRecordSchema = z
  .object({
    sessionId: z.string(),
    debugInfo: z.object({
      state: z.string().meta({ description: "The menu state's name; `preMenu` is the main menu." }),
      status: z.literal('active'),
      context: z.object({
        sessionId: z.string(),
        phoneNumber: z.string().meta({ description: 'E.164; masked for the role `viewer`.' }),
        serviceCode: z.string(),
        message: z.string().meta({ description: 'The last menu text shown; never holds a secret.' }),
        isAuthenticated: z.boolean(),
        asksSecret: z.boolean().meta({ description: 'The screen asks for a PIN or another answer that is not kept.' }),
        language: z.string(),
        startedAt: timestampSchema,
        lastSeenAt: timestampSchema,
      }),
    }),
    activeSessions: z.array(z.string()),
  })
  .meta({ id: 'UssdDebugRecord', description: 'The state of one active session, for operators.' });

export type UssdDebugRecord = z.infer<typeof ussdDebugRecordSchema>;

export const ussdSessionsRecordSchema = z
  .object({ activeSessions: z.array(z.string()), count: z.int().min(0) })
  .meta({ id: 'UssdSessionsRecord', description: 'The active sessions, for operators.' });

export type UssdSessionsRecord = z.infer<typeof ussdSessionsRecordSchema>;

export const ussdReportSchema = z
  .object({
    reference: z.string().meta({ description: 'The reference number the reporter was shown.' }),
    phoneNumber: z.string().meta({ description: 'E.164; masked for the role `viewer`.' }),
    type: z.string().meta({ description: 'The kind of activity chosen in the menu.' }),
    amount: z.string().meta({ description: 'A decimal number as text, so that no digit is lost.' }),
    createdAt: timestampSchema,
    unit: z.string().optional().meta({ description: 'What the amount counts.' }),
    place: z.string().optional().meta({ description: 'Where it was, in the words of the reporter.' }),
    date: z.iso.date().optional().meta({ description: 'When it was, where that is not the day of the report.' }),
    note: z.string().optional().meta({ description: 'A note of the reporter.' }),
  })
  .meta({ id: 'UssdReport', description: 'An activity reported over USSD.' });

export type UssdReport = z.infer<typeof ussdReportSchema>;

export const ussdReportListSchema = z
  .object({ reports: z.array(ussdReportSchema), ...offsetPageFields })
  .meta({ id: 'UssdReportList', description: 'Reports, newest first, for operators.' });

export type UssdReportList = z.infer<typeof ussdReportListSchema>;
