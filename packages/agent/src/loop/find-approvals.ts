import type { Capability } from '@palaver/ucan';
import { checkArguments } from '../plugins/check-arguments.ts';
import type { ModelResult } from '../plugins/middleware.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { Tool } from '../plugins/tool.ts';
import { toMissing } from '../run/run-steps.ts';
import type { GatedCall } from '../store/approvals.ts';
import type { StepTools } from './bind-tools.ts';

const notApproved = 'APPROVAL_REFUSED: the user has not approved this call. It was not run.';
const notSigned = 'AUTHORIZATION_REQUIRED: the user has not signed an invocation for this call. It was not run.';

type ToolCall = ModelResult['toolCalls'][number];
interface LoopParts {
  tools: StepTools;
  rt: RuntimeContext;
}

/**
 * What the calls of a step wait for: the user's approval, a delegation, an invocation, or several of them. Calls that would fail anyway, with wrong
 * arguments, are not asked about.
 */
export async function findApprovals(toolCalls: ToolCall[], parts: LoopParts): Promise<GatedCall[]> {
  const asked = await Promise.all(
    toolCalls.map(async (call) => {
      const checked = checkCall(call, parts.tools);
      if (!checked?.tool.needsApproval || !(await needsApproval(checked.tool, checked.args, parts.rt))) return [];
      return [checked.gated];
    }),
  );
  return [...asked.flat(), ...(await findDelegations(toolCalls, parts)), ...(await findInvocations(toolCalls, parts))];
}

/** The delegations that calls of a step lack. */
export async function findDelegations(toolCalls: ToolCall[], { tools, rt }: LoopParts): Promise<GatedCall[]> {
  const asked = await Promise.all(
    toolCalls.map(async (call) => {
      const checked = checkCall(call, tools);
      const capability = checked && (await findCapability(checked.tool, checked.args, rt));
      return capability && !rt.ucan.hasCapability(capability) ? [{ ...checked.gated, capability }] : [];
    }),
  );
  return asked.flat();
}

/** The invocations that the user has to sign for calls of a step. */
async function findInvocations(toolCalls: ToolCall[], { tools, rt }: LoopParts): Promise<GatedCall[]> {
  const asked = toolCalls.map((call) => {
    const checked = checkCall(call, tools);
    const invocation = checked?.tool.needsInvocation?.(rt);
    return checked && invocation ? [{ ...checked.gated, invocation }] : [];
  });
  return asked.flat();
}

/** What the user has approved of a call. */
export interface CallApproval {
  isApproved: boolean;
  /** The invocation that the user signed for it. */
  invocation?: string | undefined;
}

/**
 * Why a tool must not run with these arguments, in words for the model. Asked where it is about to run: the tool and its
 * arguments may be others than when the step was looked at.
 */
export async function findRefusal(
  { tool, args, rt }: { tool: Tool; args: unknown; rt: RuntimeContext },
  { isApproved, invocation }: CallApproval,
): Promise<string | undefined> {
  if (!isApproved && tool.needsApproval && (await needsApproval(tool, args, rt))) return notApproved;
  const capability = await findCapability(tool, args, rt);
  if (capability && !rt.ucan.hasCapability(capability)) return toMissing(capability);
  if (invocation === undefined && tool.needsInvocation?.(rt)) return notSigned;
  return undefined;
}

function checkCall({ id, name, args, fault }: ToolCall, tools: StepTools) {
  const tool = tools.get(name);
  if (!(tool?.needsApproval || tool?.needsDelegation || tool?.needsInvocation) || fault !== undefined) return undefined;
  const checked = checkArguments(tool, args);
  if ('error' in checked) return undefined;
  return { tool, args: checked.args, gated: { toolCallId: id, toolName: name, args: toShownArgs(tool, args) } };
}

/** A rule that fails asks the user. */
async function needsApproval({ needsApproval: rule }: Tool, args: unknown, rt: RuntimeContext): Promise<boolean> {
  if (typeof rule !== 'function') return rule === true;
  try {
    return await rule(args, rt);
  } catch (error) {
    rt.logger.warn({ err: error }, 'a rule for approval failed, so the user is asked');
    return true;
  }
}

/** Where the rule fails, the tool runs and is refused what it may not do. */
async function findCapability(tool: Tool, args: unknown, rt: RuntimeContext): Promise<Capability | undefined> {
  try {
    return await tool.needsDelegation?.(args, rt);
  } catch (error) {
    rt.logger.warn({ err: error }, 'a rule for delegations failed, so the user is not asked');
    return undefined;
  }
}

/** The arguments as clients see them. */
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
