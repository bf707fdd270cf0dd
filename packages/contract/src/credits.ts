import { z } from 'zod';
import { boundedText, didSchema, named, timestampSchema } from './primitives.ts';

/** Far below 2^53, so that sums of many stay exact. */
const maxAmount = 1_000_000_000_000;
const amountSchema = z.int().min(1).max(maxAmount);

export const creditClaimSchema = named('CreditClaim', 'A payment that the agent asks for before it continues.', {
  claimId: z.string(),
  amount: z.int().min(1).describe('What settling it costs, in credits.'),
  debt: z.int().min(0).describe('The part that pays for answers already given; the rest is credit.'),
  status: z.enum(['open', 'settled', 'withdrawn']),
  createdAt: timestampSchema,
});

export type CreditClaim = z.infer<typeof creditClaimSchema>;

export const creditAccountSchema = named('CreditAccount', "A user's credit with this agent.", {
  did: didSchema,
  balance: z.int().min(0).describe('Credits free to use.'),
  held: z.int().min(0).describe('Credits set aside for answers being given.'),
  claims: z.array(creditClaimSchema).describe('The open ones; while there is a debt nothing is answered.'),
  subscription: z
    .object({ endsAt: z.iso.datetime(), allowance: z.int().min(0), used: z.int().min(0) })
    .optional()
    .describe('The subscription in force. What is not used of its allowance is taken back at its end.'),
});

export type CreditAccount = z.infer<typeof creditAccountSchema>;

export const creditTopUpSchema = named('CreditTopUp', 'A payment that arrived.', {
  did: didSchema,
  amount: amountSchema,
  idempotencyKey: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, { error: 'must be 1 to 200 printable ASCII characters without blanks' })
    .describe('A name for this payment; repeating it changes nothing.'),
});

export type CreditTopUp = z.infer<typeof creditTopUpSchema>;

export const creditAccountParamsSchema = z.object({ did: didSchema }).describe('The user an account is of.');

export const creditClaimParamsSchema = z
  .object({ claimId: boundedText(1, 200) })
  .describe('The claim a route is about.');
