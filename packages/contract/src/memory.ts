import { z } from 'zod';
import { boundedText } from './bounded-text.ts';
import { memoryLimits } from './limits.ts';
import { offsetPageFields, offsetPageQuerySchema } from './pagination.ts';
import { timestampSchema } from './primitives.ts';

const memoryKindSchema = z.enum(['fact', 'artifact']).meta({
  description: '`fact`: something about the user. `artifact`: something the agent made for them.',
});

const textField = boundedText(1, memoryLimits.textCharacters).meta({ description: 'One thing in plain words.' });

export const memorySchema = z
  .object({ id: z.string(), text: z.string(), kind: memoryKindSchema, createdAt: timestampSchema })
  .meta({ id: 'Memory', description: 'Something the agent remembers of this user.' });

export type Memory = z.infer<typeof memorySchema>;

export const createMemorySchema = z
  .object({ text: textField, kind: memoryKindSchema.default('fact') })
  .meta({ id: 'CreateMemory', description: 'Something to remember from now on.' });

export type CreateMemory = z.infer<typeof createMemorySchema>;

const queryField = boundedText(1, memoryLimits.queryCharacters).meta({ description: 'Words to look for.' });

export const memoryQuerySchema = offsetPageQuerySchema
  .extend({ query: queryField.optional() })
  .meta({ description: 'A page of what is remembered; the best matches first, without words to look for the newest.' });

export const memoryListSchema = z
  .object({ memories: z.array(memorySchema), ...offsetPageFields })
  .meta({ id: 'MemoryList', description: 'What the agent remembers of this user.' });

export type MemoryList = z.infer<typeof memoryListSchema>;

export const memoryParamsSchema = z
  .object({ id: z.string().min(1) })
  .meta({ description: 'The memory a route is about.' });

export const memoryDeletedSchema = z
  .object({ ok: z.literal(true) })
  .meta({ id: 'MemoryDeleted', description: 'It is forgotten.' });
