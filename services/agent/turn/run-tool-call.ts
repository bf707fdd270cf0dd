import { z } from 'zod';
import type { Middleware, Tool, ToolCallRequest } from '../plugins/plugin.ts';
import { type RuntimeContext, ToolError } from '../plugins/runtime-context.ts';

export interface ToolOutcome {
  output?: unknown;
  /** In words for the model. */
  error?: string;
}

const defaultTimeoutMs = 60_000;
const maxOutputCharacters = 100_000;

/**
 * Runs one tool call: checks the arguments, keeps to the time limit, turns every failure into words for the model.
 * Only an abort of the whole turn is thrown.
 */
export async function runToolCall(
  call: { toolCallId: string; toolName: string; args: unknown },
  { tool, rt, middlewares }: { tool: Tool | undefined; rt: RuntimeContext; middlewares: Middleware[] },
): Promise<ToolOutcome> {
  if (!tool) return { error: `TOOL_UNAVAILABLE: there is no tool ${call.toolName}.` };
  const checked = checkArguments(tool, call.args);
  if ('error' in checked) return { error: checked.error };
  const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
  const late = AbortSignal.timeout(timeoutMs);
  const abortSignal = AbortSignal.any([rt.abortSignal, late]);
  const toolRt: RuntimeContext = { ...rt, abortSignal, toolCallId: call.toolCallId };
  const execute = middlewares.reduceRight<(call: ToolCallRequest) => Promise<unknown>>(
    (next, { wrapToolCall }) => (wrapToolCall ? (request) => wrapToolCall(request, next, toolRt) : next),
    async ({ args }) => tool.execute(args, toolRt),
  );
  try {
    const output = await Promise.race([execute({ ...call, args: checked.args }), rejectOn(abortSignal)]);
    return limitOutput(output);
  } catch (error) {
    if (rt.abortSignal.aborted) throw rt.abortSignal.reason;
    if (late.aborted) return { error: `TOOL_TIMEOUT: ${call.toolName} did not answer within ${timeoutMs / 1000} s.` };
    if (error instanceof ToolError) return { error: `${error.code}: ${error.message}` };
    rt.logger.warn({ err: error, toolName: call.toolName }, 'a tool failed');
    return { error: `TOOL_FAILED: ${call.toolName} failed.` };
  }
}

function checkArguments(tool: Tool, args: unknown): { args: Record<string, unknown> } | { error: string } {
  const schema = tool.input instanceof z.ZodType ? tool.input : fromJsonSchema(tool.input);
  const result = schema.safeParse(args);
  if (result.success) return { args: result.data as Record<string, unknown> };
  const issues = result.error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
  return { error: `The arguments are not right (${issues.join('; ')}). Correct them and try once more.` };
}

/** A schema zod cannot read still has to be an object; the page or server that declared it checks the rest. */
function fromJsonSchema(schema: Record<string, unknown>): z.ZodType {
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return z.record(z.string(), z.unknown());
  }
}

function limitOutput(output: unknown): ToolOutcome {
  const text = JSON.stringify(output) ?? 'null';
  if (text.length <= maxOutputCharacters) return { output: output ?? null };
  return { error: `TOOL_RESULT_TOO_LARGE: the result has ${text.length} characters; ask for less.` };
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
