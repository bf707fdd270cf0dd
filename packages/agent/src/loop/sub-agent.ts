import { z } from 'zod';
import { ToolError } from '../plugins/runtime-context.ts';
import type { SubAgent, Tool } from '../plugins/tool.ts';
import { TurnError } from '../run/stream-error.ts';
import { toBoundTools } from './bind-tools.ts';
import { toUserMessage } from './history.ts';
import { runToolLoop, type ToolLoopParts } from './tool-loop.ts';

const maxSteps = 8;
const timeoutMs = 5 * 60_000;
const input = z.object({
  task: z.string().min(1).max(20_000).describe('What to do, with everything needed to do it: it sees nothing else'),
});

/**
 * A sub-agent as a tool of the main one. It sees the task alone, works with its own tools and its own model role, and its
 * last words are the tool's result; what it says on the way is nobody's answer.
 */
export function createSubAgentTool(
  agent: SubAgent,
  {
    from,
    ...base
  }: Pick<ToolLoopParts, 'run' | 'idleMs' | 'middlewares' | 'resolveModel' | 'checkRun'> & { from: string },
): Tool {
  return {
    description: agent.description,
    input,
    timeoutMs,
    async execute({ task }: z.infer<typeof input>, rt) {
      rt.emit.router({ from, to: agent.name });
      try {
        const { text: answer } = await runToolLoop({
          ...base,
          rt,
          parentId: rt.toolCallId,
          model: rt.llm.get('subagent'),
          tools: toBoundTools(toOwnTools(agent)),
          system: async () => [agent.instructions],
          messages: [toUserMessage(task)],
          maxSteps: agent.maxSteps ?? maxSteps,
          output: { text() {}, reasoning() {} },
        });
        return { answer };
      } catch (error) {
        if (error instanceof TurnError) throw new ToolError('TOOL_FAILED', error.message, { cause: error });
        throw error;
      } finally {
        rt.emit.router({ from: agent.name, to: from });
      }
    },
  };
}

function toOwnTools({ name: from, tools = {} }: SubAgent) {
  return new Map(Object.entries(tools).map(([name, tool]) => [name, { tool, from }]));
}
