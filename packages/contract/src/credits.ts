import { z } from 'zod';
import { boundedText, didSchema, timestampSchema } from './primitives.ts';

/** Far below 2^53, so that sums of many stay exact. */
const maxAmount = 1_000_000_000_000;
const amountSchema = z.int().min(1).max(maxAmount);

export const creditClaimSchema = z
  .object({
    claimId: z.string(),
    amount: z.int().min(1).meta({ description: 'What settling it costs, in credits.' }),
    debt: z.int().min(0).meta({ description: 'The part that pays for answers already given; the rest is credit.' }),
    status: z.enum(['open', 'settled', 'withdrawn']),
    createdAt: timestampSchema,
  })
  .meta({ id: 'CreditClaim', description: 'A payment that the agent asks for before it continues.' });

export type CreditClaim = z.infer<typeof creditClaimSchema>;

export const creditAccountSchema = z
  .object({
    did: didSchema,
    balance: z.int().min(0).meta({ description: 'Credits free to use.' }),
    held: z.int().min(0).meta({ description: 'Credits set aside for answers being given.' }),
    claims: z
      .array(creditClaimSchema)
      .meta({ description: 'The open ones; while there is a debt nothing is answered.' }),
    subscription: z
      .object({ endsAt: z.iso.datetime(), allowance: z.int().min(0), used: z.int().min(0) })
      .optional()
      .meta({ description: 'The subscription in force. What is not used of its allowance is taken back at its end.' }),
  })
  .meta({ id: 'CreditAccount', description: "A user's credit with this agent." });

export type CreditAccount = z.infer<typeof creditAccountSchema>;

export const creditTopUpSchema = z
  .object({
    did: didSchema,
    amount: amountSchema,
    idempotencyKey: z
      .string()
      .regex(/^[\x21-\x7e]{1,200}$/, { error: 'must be 1 to 200 printable ASCII characters without blanks' })
      .meta({ description: 'A name for this payment; repeating it changes nothing.' }),
  })
  .meta({ id: 'CreditTopUp', description: 'A payment that arrived.' });

export type CreditTopUp = z.infer<typeof creditTopUpSchema>;

export const creditAccountParamsSchema = z
  .object({ did: didSchema })
  .meta({ description: 'The user an account is of.' });

export const creditClaimParamsSchema = z
  .object({ claimId: boundedText(1, 200) })
  .meta({ description: 'The claim a route is about.' });
