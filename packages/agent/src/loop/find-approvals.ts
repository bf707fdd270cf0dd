import { checkArguments } from '../plugins/check-arguments.ts';
import type { ModelResult } from '../plugins/middleware.ts';
import type { RuntimeContext } from '../plugins/runtime-context.ts';
import type { Tool } from '../plugins/tool.ts';
import type { GatedCall } from '../store/approvals.ts';
import type { BoundTools } from './bind-tools.ts';

type ToolCall = ModelResult['toolCalls'][number];

/** The calls of a step that wait for the user. Calls that would fail anyway, with wrong arguments, are not asked about. */
export async function findApprovals(
  toolCalls: ToolCall[],
  { tools, rt }: { tools: BoundTools; rt: RuntimeContext },
): Promise<GatedCall[]> {
  const asked = await Promise.all(
    toolCalls.map(async ({ id, name, args, fault }) => {
      const tool = tools.get(name);
      if (!tool?.needsApproval || fault !== undefined) return [];
      const checked = checkArguments(tool, args);
      if ('error' in checked || !(await needsApproval(tool, checked.args, rt))) return [];
      return [{ toolCallId: id, toolName: name, args: toShownArgs(tool, args) }];
    }),
  );
  return asked.flat();
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
