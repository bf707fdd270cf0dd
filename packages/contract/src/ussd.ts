import { z } from 'zod';
import { ussdLimits } from './limits.ts';
import { noControlCharactersPattern, phoneNumberPattern, serviceCodePattern, visibleAsciiPattern } from './patterns.ts';
import { boundedText, named, offsetPageFields, timestampSchema } from './primitives.ts';

export const phoneNumberSchema = z
  .string()
  .regex(phoneNumberPattern, { error: 'must be an E.164 phone number, for example +254700000001' })
  .meta({ id: 'PhoneNumber', description: 'A phone number in E.164 form.', examples: ['+254700000001'] });

const sessionIdSchema = z
  .string()
  .max(ussdLimits.sessionIdCharacters)
  .regex(visibleAsciiPattern, { error: 'must be printable ASCII without spaces' });

export const ussdRequestSchema = named('UssdRequest', 'One user input of a USSD session.', {
  sessionId: sessionIdSchema.describe('Assigned by the telecom gateway.'),
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
});

export const ussdSessionParamsSchema = z.object({ sessionId: z.string() }).describe('The session of a debug lookup.');

export const ussdDebugRecordSchema = named('UssdDebugRecord', 'The state of one active session, for operators.', {
  sessionId: z.string(),
  debugInfo: z.object({
    state: z.string().describe("The menu state's name; `preMenu` is the main menu."),
    status: z.literal('active'),
    context: z.object({
      sessionId: z.string(),
      phoneNumber: z.string().describe('E.164; masked for the role `viewer`.'),
      serviceCode: z.string(),
      message: z.string().describe('The last menu text shown; never holds a secret.'),
      isAuthenticated: z.boolean(),
      asksSecret: z.boolean().describe('The screen asks for a PIN or another answer that is not kept.'),
      language: z.string(),
      startedAt: timestampSchema,
      lastSeenAt: timestampSchema,
    }),
  }),
  activeSessions: z.array(z.string()),
});

export type UssdDebugRecord = z.infer<typeof ussdDebugRecordSchema>;

export const ussdSessionsRecordSchema = z
  .object({ activeSessions: z.array(z.string()), count: z.int().min(0) })
  .meta({ id: 'UssdSessionsRecord', description: 'The active sessions, for operators.' });

export type UssdSessionsRecord = z.infer<typeof ussdSessionsRecordSchema>;

export const ussdReportSchema = named('UssdReport', 'An activity reported over USSD.', {
  reference: z.string().describe('The reference number the reporter was shown.'),
  phoneNumber: z.string().describe('E.164; masked for the role `viewer`.'),
  type: z.string().describe('The kind of activity chosen in the menu.'),
  amount: z.string().describe('A decimal number as text, so that no digit is lost.'),
  createdAt: timestampSchema,
  unit: z.string().optional().describe('What the amount counts.'),
  place: z.string().optional().describe('Where it was, in the words of the reporter.'),
  date: z.iso.date().optional().describe('When it was, where that is not the day of the report.'),
  note: z.string().optional().describe('A note of the reporter.'),
});

export type UssdReport = z.infer<typeof ussdReportSchema>;

export const ussdReportListSchema = z
  .object({ reports: z.array(ussdReportSchema), ...offsetPageFields })
  .meta({ id: 'UssdReportList', description: 'Reports, newest first, for operators.' });

export type UssdReportList = z.infer<typeof ussdReportListSchema>;
