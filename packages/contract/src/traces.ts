import { z } from 'zod';
import { named, timestampSchema } from './primitives.ts';

const tokens = { inputTokens: z.int().min(0), outputTokens: z.int().min(0) };

const summaryShape = {
  id: z.uuid(),
  runId: z.string(),
  sessionId: z.string(),
  status: z.enum(['ended', 'failed']),
  startedAt: timestampSchema,
  durationMs: z.int().min(0),
  modelCalls: z.int().min(0),
  toolCalls: z.int().min(0),
  ...tokens,
  cost: z.int().min(0).describe('Credits, at CREDITS_PRICES'),
};

const stepSchema = z.object({
  kind: z.enum(['model', 'tool']),
  name: z.string().describe('The model, or the tool'),
  startMs: z.int().min(0).describe('After the start of the trace'),
  durationMs: z.int().min(0),
  inputTokens: tokens.inputTokens.optional(),
  outputTokens: tokens.outputTokens.optional(),
  tools: z.array(z.string()).optional().describe('Those that the model was offered'),
  error: z.string().optional().describe('Its code, without what it says'),
  input: z.string().optional().describe('JSON of the prompt, or of the arguments'),
  output: z.string().optional().describe('JSON of what the model or the tool returned'),
});

export type TraceStep = z.infer<typeof stepSchema>;

const traceSchema = z.object({ ...summaryShape, steps: z.array(stepSchema) });

export type Trace = z.infer<typeof traceSchema>;
/** The parts of a run: it has several where it waited for its user or another instance took it over. */
export const runTraceSchema = named('RunTrace', 'The calls of a run, in one or several parts.', {
  traces: z.array(traceSchema),
});

const traceSummarySchema = z.object(summaryShape);

export type TraceSummary = z.infer<typeof traceSummarySchema>;

export const traceListSchema = z
  .object({ traces: z.array(traceSummarySchema), nextCursor: z.string().nullable() })
  .meta({ id: 'TraceList', description: 'A page of traces, the newest first.' });

export const traceListQuerySchema = z
  .object({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    before: z.uuid().optional().describe('The cursor of the page before'),
  })
  .describe('Which page of the traces.');
