import { agentLimits } from '@palaver/contract';
import { serializeErrorPlaces } from '@palaver/service-kit/internal';
import { checkArguments } from '../plugins/check-arguments.ts';
import { type RuntimeContext, ToolError, type ToolProgress } from '../plugins/runtime-context.ts';
import type { Tool } from '../plugins/tool.ts';
import { rejectOnAbort } from '../run/reject-on-abort.ts';
import type { ToolOutcome } from '../run/run-steps.ts';
import { type CallApproval, findRefusal } from './find-approvals.ts';
import type { TurnMiddlewares } from './middlewares.ts';

/** How often each tool was called with arguments that are not valid, in one turn. */
export type ArgumentFaults = Map<string, number>;

/** The user has not agreed to the call as it would run. */
class Refused extends Error {}

const argumentsChanged = 'APPROVAL_REFUSED: the arguments were changed after the user approved them. It was not run.';
const loadFirst = ' A tool of a capability can be called in the step after load_capability.';
const defaultTimeoutMs = 60_000;
/** A model may correct its arguments once; then the tool is closed to it until the next turn. */
const allowedFaults = 2;

export interface ToolCallParts {
  tool: Tool | undefined;
  rt: RuntimeContext;
  middlewares: TurnMiddlewares;
  faults: ArgumentFaults;
  approval: CallApproval;
  /** Whether tools can be loaded that are not there yet. */
  canLoad?: boolean;
  onProgress?(progress: ToolProgress): void;
}

/**
 * Runs one tool call: checks the arguments, keeps to the time limit, turns every failure into words for the model.
 * Only an abort of the whole turn is thrown.
 */
export async function runToolCall(
  { fault, ...call }: { toolCallId: string; toolName: string; args: unknown; fault?: string | undefined },
  { tool, rt, middlewares, faults, approval, canLoad = false, onProgress }: ToolCallParts,
): Promise<ToolOutcome> {
  if (!tool) return { error: `TOOL_UNAVAILABLE: there is no tool ${call.toolName}.${canLoad ? loadFirst : ''}` };
  const earlier = faults.get(call.toolName) ?? 0;
  if (earlier >= allowedFaults) return { error: `TOOL_UNAVAILABLE: ${call.toolName} is closed for this answer.` };
  const checked = fault === undefined ? checkArguments(tool, call.args) : { error: fault };
  if ('error' in checked) {
    faults.set(call.toolName, earlier + 1);
    const isFinal = earlier + 1 >= allowedFaults;
    const advice = isFinal ? 'Do not call it again; answer without it.' : 'Correct them and try once more.';
    return { error: `TOOL_FAILED: the arguments are not valid (${checked.error}). ${advice}` };
  }
  const timeoutMs = tool.timeoutMs ?? defaultTimeoutMs;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new ToolError('TOOL_TIMEOUT', 'the tool took too long')), timeoutMs);
  const abortSignal = AbortSignal.any([rt.abortSignal, late.signal]);
  let isOver = false;
  const reportProgress = (progress: ToolProgress) => {
    if (isOver) return;
    timer.refresh();
    onProgress?.(progress);
  };
  const { invocation } = approval;
  const toolRt: RuntimeContext = { ...rt, abortSignal, toolCallId: call.toolCallId, invocation, reportProgress };
  const asked = approval.isApproved ? toText(checked.args) : undefined;
  const execute = async (args: unknown) => {
    if (asked !== undefined && toText(args) !== asked) throw new Refused(argumentsChanged);
    const refusal = await findRefusal({ tool, args, rt: toolRt }, approval);
    if (refusal !== undefined) throw new Refused(refusal);
    abortSignal.throwIfAborted();
    return tool.execute(args, toolRt);
  };
  try {
    const request = { ...call, args: checked.args };
    abortSignal.throwIfAborted();
    const work = middlewares.wrapToolCall(request, ({ args }) => execute(args), toolRt);
    const output = await Promise.race([work, rejectOnAbort(abortSignal)]);
    return limitOutput(output);
  } catch (error) {
    if (rt.abortSignal.aborted) throw rt.abortSignal.reason;
    if (late.signal.aborted)
      return { error: `TOOL_TIMEOUT: ${call.toolName} did not answer within ${timeoutMs / 1000} s.` };
    if (error instanceof Refused) return { error: error.message };
    if (error instanceof ToolError) return { error: `${error.code}: ${error.message}` };
    rt.logger.warn({ error: serializeErrorPlaces(error), toolName: call.toolName }, 'a tool failed');
    return { error: `TOOL_FAILED: ${call.toolName} failed.` };
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** For a comparison: arguments that were parsed may hold what JSON has no form for. */
function toText(args: unknown): string {
  return JSON.stringify(args, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
}

function limitOutput(output: unknown): ToolOutcome {
  const bytes = Buffer.byteLength(JSON.stringify(output) ?? 'null');
  if (bytes <= agentLimits.toolResultBytes) return { output: output ?? null };
  return { error: `TOOL_RESULT_TOO_LARGE: the result has ${bytes} bytes; ask for less.` };
}
