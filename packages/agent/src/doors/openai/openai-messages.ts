import type { ToolCall } from '@palaver/contract';
import { isJsonTooDeep } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { CallerTool, EarlierMessage } from '../../define/agent-run.ts';
import { invalid } from '../define-door.ts';

export const contentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
]);

export type OpenAiContent = z.infer<typeof contentSchema>;

export const chatMessageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema.nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().optional(),
});

const argumentsSchema = z.record(z.string(), z.unknown());

/** Arguments of calls are texts. One that is not an object, or is nested too deep, counts as empty. */
function parseArguments(text: string): Record<string, unknown> {
  try {
    return isJsonTooDeep(text) ? {} : argumentsSchema.parse(JSON.parse(text));
  } catch {
    return {};
  }
}

export const toolChoiceSchema = z.enum(['auto', 'none'], { error: 'must be auto or none' }).nullish();

/** The text of a content; images, sounds and files are not taken. */
export function toText(content: OpenAiContent | null | undefined, path: string): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content
    .map(({ type, text }) => {
      if (text === undefined) throw invalid(path, `must be text; ${type} is not supported`);
      return text;
    })
    .join('');
}

/** A conversation that its caller keeps, built message by message. */
export function createConversation() {
  const earlier: EarlierMessage[] = [];
  const calls = new Map<string, ToolCall>();
  return {
    /** Words of the user; those of a system message are the user's too. */
    say: (content: string) => void earlier.push({ type: 'human', content }),
    answer(content: string, asked: { id: string; name: string; arguments: string }[] = []): void {
      const toolCalls = asked.map(({ id, name, arguments: json }): ToolCall => {
        const call: ToolCall = {
          id,
          name,
          args: parseArguments(json),
          status: 'error',
          error: 'The caller gave no result.',
        };
        calls.set(id, call);
        return call;
      });
      earlier.push({ type: 'ai', content, ...(toolCalls.length > 0 && { toolCalls }) });
    },
    /** False if no message before has made the call. */
    addResult(id: string, text: string): boolean {
      const call = calls.get(id);
      if (!call) return false;
      delete call.error;
      Object.assign(call, { status: 'done', output: text });
      return true;
    },
    /** The last words of the user, which are the question, and what was before them. */
    split(hasResults = false): { message: string; earlier: EarlierMessage[] } {
      const last = earlier.at(-1);
      if (last?.type === 'human') return { message: last.content, earlier: earlier.slice(0, -1) };
      if (!hasResults && !last?.toolCalls?.some(({ status }) => status === 'done'))
        throw invalid('messages', 'must end with a message of the user or a result of a tool');
      return { message: '', earlier };
    },
  };
}

const emptySchema = { type: 'object', properties: {} };

export function toCallerTool(tool: {
  name: string;
  description?: string | null | undefined;
  parameters?: Record<string, unknown> | null | undefined;
}): CallerTool {
  return { name: tool.name, description: tool.description ?? '', schema: tool.parameters ?? emptySchema };
}
