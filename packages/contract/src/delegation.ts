import { z } from 'zod';
import { didSchema, ucanTokenSchema } from './primitives.ts';

const expirationSchema = z.int().min(0).meta({ description: 'Unix time in seconds.' });

export const storeDelegationSchema = z
  .object({
    raw: ucanTokenSchema,
    issuer: didSchema.optional(),
    audience: didSchema.optional(),
    expiration: expirationSchema.optional(),
  })
  .meta({ id: 'StoreDelegationDto', description: "A delegation from the user to this agent; the token's values win." });

export type StoreDelegation = z.infer<typeof storeDelegationSchema>;

export const delegationStoredSchema = z
  .object({ ok: z.literal(true), expiration: expirationSchema.optional() })
  .meta({ id: 'DelegationStored', description: 'The delegation is verified and kept.' });

export type DelegationStored = z.infer<typeof delegationStoredSchema>;

export const delegationStatusSchema = z
  .object({ authorized: z.boolean(), expiration: expirationSchema.optional() })
  .meta({ id: 'DelegationStatus', description: 'Whether a delegation in force is stored.' });

export type DelegationStatus = z.infer<typeof delegationStatusSchema>;

export const delegationRevokedSchema = z
  .object({ ok: z.literal(true) })
  .meta({ id: 'DelegationRevoked', description: 'No delegation is stored any more.' });

export type DelegationRevoked = z.infer<typeof delegationRevokedSchema>;
