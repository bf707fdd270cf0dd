import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { z } from 'zod';
import type { Tool } from './tool.ts';

type InputSchema = LanguageModelV4FunctionTool['inputSchema'];

const made = new WeakMap<object, InputSchema>();

/** The arguments of a tool as model providers want them: JSON Schema of an object. Throws where zod cannot write it. */
export function toInputSchema({ input }: Tool): InputSchema {
  if (!(input instanceof z.ZodType)) return input;
  const known = made.get(input) ?? (z.toJSONSchema(input, { io: 'input' }) as InputSchema);
  made.set(input, known);
  return known;
}
