import { z } from 'zod';
import { cidPattern } from './patterns.ts';
import { didSchema, jsonObjectSchema, ucanTokenSchema } from './primitives.ts';

const expirationSchema = z.int().min(0).describe('Unix time in seconds.');

const cidSchema = z
  .string()
  .regex(cidPattern, { error: 'must be a CID, bafy…' })
  .describe('The CID of the delegation; it can be revoked by it.');

export const capabilitySchema = z.object({ can: z.string(), with: z.string(), nb: jsonObjectSchema.optional() }).meta({
  id: 'Capability',
  description: 'What may be done (`can`) with what (`with`), under which conditions (`nb`).',
});

export const delegationParamsSchema = z.object({ cid: cidSchema }).describe('The delegation to revoke.');

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
  .object({ ok: z.literal(true), expiration: expirationSchema.optional(), cid: cidSchema.optional() })
  .meta({ id: 'DelegationStored', description: 'The delegation is verified and kept.' });

export const delegationStatusSchema = z
  .object({
    authorized: z.boolean(),
    expiration: expirationSchema.optional(),
    cid: cidSchema.optional(),
    capabilities: z.array(capabilitySchema).optional().describe('What the delegation in force grants.'),
    delegations: z
      .array(
        z.object({
          cid: cidSchema,
          expiration: expirationSchema,
          capabilities: z
            .array(capabilitySchema)
            .optional()
            .describe('What it grants; not there where the key that sealed it is gone.'),
        }),
      )
      .optional()
      .describe('Every stored delegation that has not expired and is not revoked, replaced ones included.'),
  })
  .meta({ id: 'DelegationStatus', description: 'Whether a delegation in force is stored, and what is granted.' });

export const delegationRevokedSchema = z
  .object({ ok: z.literal(true) })
  .meta({ id: 'DelegationRevoked', description: 'The delegation, or every stored one, is refused from now on.' });

export const didDocumentSchema = z
  .looseObject({
    '@context': z.array(z.string()),
    id: didSchema,
    verificationMethod: z.array(
      z.object({ id: z.string(), type: z.string(), controller: didSchema, publicKeyMultibase: z.string() }),
    ),
    authentication: z.array(z.string()),
    assertionMethod: z.array(z.string()),
    service: z
      .array(z.object({ id: z.string(), type: z.string(), serviceEndpoint: z.string() }))
      .optional()
      .describe('Where the agent is reached: `oracleService` and `wsService`.'),
  })
  .meta({ id: 'DidDocument', description: "The public part of the agent's key, and where it is reached." });

export type DidDocument = z.infer<typeof didDocumentSchema>;
