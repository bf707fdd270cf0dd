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
  })
  .meta({ id: 'DidDocument', description: "The public part of the agent's key." });

export type DidDocument = z.infer<typeof didDocumentSchema>;
