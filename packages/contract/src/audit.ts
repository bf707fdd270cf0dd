import { z } from 'zod';
import { boundedText, named, timestampSchema } from './primitives.ts';

export const auditActions = [
  'account.registered',
  'account.unlocked',
  'login.succeeded',
  'login.refused',
  'login.locked',
  'logout',
  'pin.changed',
  'pin.reset',
  'address.proposed',
  'address.changed',
  'link.refused',
  'account.linked',
  'payout.ordered',
  'report.filed',
  'operator.read',
  'operator.write',
  'operator.refused',
  'operator.added',
  'operator.revoked',
  'credits.booked',
  'approval.answered',
  'delegation.stored',
  'delegation.revoked',
  'keys.rotated',
  'draft.saved',
  'draft.removed',
  'program.published',
  'program.rolledBack',
  'program.withdrawn',
  'caller.viewed',
  'caller.pushed',
  'caller.revealed',
  'results.exported',
  'data.exported',
  'data.erased',
  'audit.exported',
  'audit.pruned',
] as const;

export type AuditAction = (typeof auditActions)[number];

export const auditLineSchema = named('AuditLine', 'One line of the audit log; `hash` covers the line and `previous`.', {
  seq: z.int(),
  at: timestampSchema,
  service: z.string(),
  actor: z.string(),
  action: z.enum(auditActions),
  subject: z.string().nullable(),
  from: z.string().nullable(),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  previous: z.string(),
  hash: z.string(),
});

export type AuditLine = z.infer<typeof auditLineSchema>;

export const auditListSchema = named('AuditList', 'A page of the audit log, newest line first.', {
  lines: z.array(auditLineSchema),
  nextCursor: z.string().nullable().describe('Value of `before` for the next, older page.'),
});

const isoTime = z.iso.datetime({ offset: true });

export const auditQuerySchema = z
  .object({
    limit: z.coerce.number().int().min(1).max(1000).default(100),
    before: z
      .string()
      .regex(/^[1-9]\d{0,14}$/)
      .optional()
      .describe('Only lines before this one: `nextCursor` of the page before.'),
    action: z.enum(auditActions).optional(),
    actor: boundedText(1, 200).optional(),
    subject: boundedText(1, 200).optional().describe('A phone number, a DID, or a `person:` reference.'),
    since: isoTime.optional(),
    until: isoTime.optional(),
    format: z.enum(['json', 'csv']).optional(),
  })
  .describe('Filters of the audit log; `format=csv` (or `Accept: text/csv`) exports every match.');

export type AuditQuery = z.infer<typeof auditQuerySchema>;
