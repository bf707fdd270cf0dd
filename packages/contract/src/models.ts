import { z } from 'zod';

export const modelIdSchema = z.string().min(1).max(200).meta({ description: 'One of the ids of `GET /models`.' });

export const modelListSchema = z
  .object({ models: z.array(z.object({ id: modelIdSchema, name: z.string() })), default: modelIdSchema })
  .meta({ id: 'ModelList', description: 'The language models a message may choose from.' });

export type ModelList = z.infer<typeof modelListSchema>;
