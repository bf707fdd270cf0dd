import { z } from 'zod';
import { didSchema } from './primitives.ts';

export const didDocumentSchema = z
  .looseObject({
    '@context': z.array(z.string()),
    id: didSchema,
    verificationMethod: z.array(
      z.object({
        id: z.string(),
        type: z.string(),
        controller: didSchema,
        publicKeyMultibase: z.string(),
      }),
    ),
    authentication: z.array(z.string()),
    assertionMethod: z.array(z.string()),
    service: z
      .array(z.object({ id: z.string(), type: z.string(), serviceEndpoint: z.string() }))
      .optional()
      .meta({ description: 'Where the agent is reached: `oracleService` and `wsService`.' }),
  })
  .meta({ id: 'DidDocument', description: "The public part of the agent's key, and where it is reached." });

export type DidDocument = z.infer<typeof didDocumentSchema>;
