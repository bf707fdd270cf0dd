import { agentLimits } from '@palaver/contract';
import { serializeErrorPlaces } from '@palaver/service-kit/internal';
import type { Capability } from '@palaver/ucan';
import type { ModelResult } from '../define/middleware.ts';
import { type RuntimeContext, ToolError, type ToolProgress } from '../define/runtime-context.ts';
import type { Tool, ToolContext } from '../define/tool.ts';
import { checkArguments } from '../define/tool-arguments.ts';
import { rejectOnAbort } from '../runs/run.ts';
import { type ToolOutcome, toMissing } from '../runs/steps.ts';
import type { GatedCall } from '../store/approvals.ts';
import type { StepTools, TurnMiddlewares } from './plugins.ts';

const notApproved = 'APPROVAL_REFUSED: the user has not approved this call. It was not run.';
const notSigned = 'AUTHORIZATION_REQUIRED: the user has not signed an invocation for this call. It was not run.';

type ToolCall = ModelResult['toolCalls'][number];
type LoopParts = { tools: StepTools; rt: RuntimeContext };

/** What the calls of a step wait for. Calls with wrong arguments would fail anyway and are not asked about. */
export async function findApprovals(toolCalls: ToolCall[], parts: LoopParts): Promise<GatedCall[]> {
  const approvals = await findGated(toolCalls, parts, async (call) =>
    call.tool.needsApproval && (await needsApproval(call)) ? call.gated : undefined,
  );
  const delegations = await findDelegations(toolCalls, parts);
  const invocations = await findGated(toolCalls, parts, async ({ tool, rt, gated }) => {
    const invocation = tool.needsInvocation?.(rt);
    return invocation && { ...gated, invocation };
  });
  return [...approvals, ...delegations, ...invocations];
}

export function findDelegations(toolCalls: ToolCall[], parts: LoopParts): Promise<GatedCall[]> {
  return findGated(toolCalls, parts, async (call) => {
    const capability = await findCapability(call);
    return capability && !(await call.rt.ucan.confirmCapability(capability))
      ? { ...call.gated, capability }
      : undefined;
  });
}

async function findGated(
  toolCalls: ToolCall[],
  parts: LoopParts,
  toGated: (checked: NonNullable<Awaited<ReturnType<typeof checkCall>>>) => Promise<GatedCall | undefined>,
): Promise<GatedCall[]> {
  const found = toolCalls.map(async (call) => {
    const checked = await checkCall(call, parts);
    return checked && toGated(checked);
  });
  return (await Promise.all(found)).filter((call) => call !== undefined);
}

type ReadyCall = { tool: Tool; args: unknown; rt: ToolContext };

export type CallApproval = { isApproved: boolean; invocation?: string | undefined };

/** Why a tool must not run, in words for the model. Asked last: tool and arguments may have changed since the step was looked at. */
export async function findRefusal(call: ReadyCall, { isApproved, invocation }: CallApproval) {
  const { tool, rt } = call;
  if (!isApproved && tool.needsApproval && (await needsApproval(call))) return notApproved;
  const capability = await findCapability(call);
  if (capability && !(await rt.ucan.confirmCapability(capability))) return toMissing(capability);
  if (invocation === undefined && tool.needsInvocation?.(rt)) return notSigned;
  return undefined;
}

async function checkCall({ id, name, args, fault }: ToolCall, { tools, rt }: LoopParts) {
  const tool = tools.get(name);
  if (!tool || !isGated(tool) || fault !== undefined) return undefined;
  const checked = await checkArguments(tool, args);
  if ('error' in checked) return undefined;
  return {
    tool,
    args: checked.args,
    rt: toToolContext(rt, id),
    gated: { toolCallId: id, toolName: name, args: toShownArgs(tool, args) },
  };
}

function isGated({ needsApproval, needsDelegation, needsInvocation }: Tool): boolean {
  return Boolean(needsApproval || needsDelegation || needsInvocation);
}

/** A rule that fails asks the user. */
async function needsApproval({ tool: { needsApproval: rule }, args, rt }: ReadyCall): Promise<boolean> {
  // Code without types may give something else: it asks.
  if (typeof rule !== 'function') return Boolean(rule);
  try {
    return await rule(args, rt);
  } catch (error) {
    rt.logger.warn({ err: error }, 'a rule for approval failed, so the user is asked');
    return true;
  }
}

/** Where the rule fails, the tool runs and is refused what it may not do. */
async function findCapability({ tool, args, rt }: ReadyCall): Promise<Capability | undefined> {
  try {
    return await tool.needsDelegation?.(args, rt);
  } catch (error) {
    rt.logger.warn({ err: error }, 'a rule for delegations failed, so the user is not asked');
    return undefined;
  }
}

export function toShownArgs(tool: Tool | undefined, args: unknown): Record<string, unknown> {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return {};
  const given = args as Record<string, unknown>;
  if (!tool?.showArgs) return given;
  try {
    return tool.showArgs(given);
  } catch {
    return {}; // what is to be hidden stays hidden
  }
}

/** How often each tool was called with arguments that are not valid, in one turn. */
export type ArgumentFaults = Map<string, number>;

/** The user has not agreed to the call as it would run. */
class Refused extends Error {}

const argumentsChanged = 'APPROVAL_REFUSED: the arguments were changed after the user approved them. It was not run.';
const loadFirst = ' A tool of a capability can be called in the step after load_capability.';
const defaultTimeoutMs = 60_000;
/** A model may correct its arguments once; then the tool is closed to it until the next turn. */
const allowedFaults = 2;

export type ToolPart = { progress: ToolProgress } | ToolOutcome;

export interface ToolCallParts {
  tool: Tool | undefined;
  rt: RuntimeContext;
  middlewares: TurnMiddlewares;
  faults: ArgumentFaults;
  approval: CallApproval;
  /** Whether tools can be loaded that are not there yet. */
  canLoad?: boolean;
  onProgress?(part: ToolPart): void;
}

/** Runs one tool call; every failure becomes words for the model. Only an abort of the whole turn is thrown. */
export async function runToolCall(
  { fault, ...call }: { toolCallId: string; toolName: string; args: unknown; fault?: string | undefined },
  { tool, rt, middlewares, faults, approval, canLoad = false, onProgress }: ToolCallParts,
): Promise<ToolOutcome> {
  if (!tool) return { error: `TOOL_UNAVAILABLE: there is no tool ${call.toolName}.${canLoad ? loadFirst : ''}` };
  const earlier = faults.get(call.toolName) ?? 0;
  if (earlier >= allowedFaults) return { error: `TOOL_UNAVAILABLE: ${call.toolName} is closed for this answer.` };
  const checked = fault === undefined ? await checkArguments(tool, call.args) : { error: fault };
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
  const report = (part: ToolPart) => {
    if (isOver) return;
    timer.refresh();
    onProgress?.(part);
  };
  const { invocation } = approval;
  const reportProgress = (progress: ToolProgress) => report({ progress });
  const toolRt = { ...toToolContext(rt, call.toolCallId), abortSignal, invocation, reportProgress };
  const asked = approval.isApproved ? toText(checked.args) : undefined;
  const execute = async (args: unknown) => {
    const checkedText = asked ?? (isGated(tool) ? toText(args) : undefined);
    const refusal = await findRefusal({ tool, args, rt: toolRt }, approval);
    if (refusal !== undefined) throw new Refused(refusal);
    abortSignal.throwIfAborted();
    // Immediately before the execution: whoever has the arguments may change them while they are checked.
    if (checkedText !== undefined && toText(args) !== checkedText) throw new Refused(argumentsChanged);
    const result = tool.execute(args, toolRt);
    return isIterable(result) ? showEach(result, (value) => report(limitOutput(value))) : result;
  };
  try {
    const request = { ...call, args: checked.args };
    abortSignal.throwIfAborted();
    const work = middlewares.wrapToolCall(request, ({ args }) => execute(args), toolRt);
    return limitOutput(await Promise.race([work, rejectOnAbort(abortSignal)]));
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

function toToolContext(rt: RuntimeContext, toolCallId: string): ToolContext {
  const said = [...rt.history, { type: 'human', content: rt.message.message }];
  const messages = said.map(
    ({ type, content }) => ({ role: type === 'human' ? 'user' : 'assistant', content }) as const,
  );
  return { ...rt, toolCallId, messages, context: undefined };
}

function isIterable(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}

/** The last value, where a generator returns nothing else. */
async function showEach(values: AsyncIterable<unknown>, show: (value: unknown) => void): Promise<unknown> {
  const iterator = values[Symbol.asyncIterator]();
  let last: unknown;
  for (;;) {
    const next = await iterator.next();
    if (next.done) return next.value ?? last;
    last = next.value;
    show(last);
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
