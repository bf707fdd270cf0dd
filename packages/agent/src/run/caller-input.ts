import { AppError, agentLimits, type Message, type SendMessage, type ToolCall } from '@palaver/contract';
import { browserToolSchema } from '@palaver/contract/internal';
import { measureJson } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { CallerResult, OpenMessage } from '../plugins/agent-run.ts';
import { isNestedDeeper } from '../plugins/check-arguments.ts';

const callerToolsSchema = z.array(browserToolSchema).max(agentLimits.declaredTools);

type CallerInput = Pick<OpenMessage, 'callerTools' | 'earlier' | 'context'>;
type PageTools = Pick<SendMessage, 'tools' | 'agActions'>;

/** Refuses input of a caller that is too large; of the schemas of its tools only size and depth are checked. */
export function checkCallerInput(
  { callerTools, earlier = [], context = [] }: CallerInput,
  { tools: pageTools = [], agActions = [] }: PageTools,
): CallerInput {
  const tools = callerToolsSchema.safeParse(callerTools ?? []);
  if (!tools.success) {
    const [issue] = tools.error.issues;
    throw invalid(`tools.${issue?.path.join('.')}`, issue?.message ?? 'is not valid');
  }
  let [bytes, values] = [0, 0];
  for (const [index, tool] of [...tools.data, ...pageTools, ...agActions].entries()) {
    const json = JSON.stringify(tool);
    bytes += Buffer.byteLength(json);
    values += measureJson(json).values;
    if (Buffer.byteLength(json) > agentLimits.callerToolBytes)
      throw invalid(`tools.${index}`, `must have at most ${agentLimits.callerToolBytes} bytes`);
    if (isNestedDeeper(tool.schema, agentLimits.toolArgumentsDepth))
      throw invalid(`tools.${index}`, `must be nested at most ${agentLimits.toolArgumentsDepth} levels deep`);
  }
  if (bytes > agentLimits.callerToolsBytes || values > agentLimits.callerToolsValues)
    throw invalid(
      'tools',
      `must have at most ${agentLimits.callerToolsBytes} bytes and ${agentLimits.callerToolsValues} values together`,
    );
  if (earlier.length + context.length > agentLimits.earlierMessages)
    throw invalid('messages', `must have at most ${agentLimits.earlierMessages} entries`);
  const calls = earlier.map(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
  if (calls.some((ids) => new Set(ids).size < ids.length))
    throw invalid('messages', 'must not have two tool calls with the same id in one answer');
  if (calls.flat().length > agentLimits.earlierCalls)
    throw invalid('messages', `must have at most ${agentLimits.earlierCalls} tool calls`);
  if (Buffer.byteLength(JSON.stringify([earlier, context])) > agentLimits.earlierBytes)
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `The conversation that came along is larger than ${agentLimits.earlierBytes} bytes.`,
    );
  return {
    callerTools: tools.data.length > 0 ? tools.data : undefined,
    earlier: earlier.length > 0 ? earlier : undefined,
    context: context.length > 0 ? context : undefined,
  };
}

/** The open calls of the last answer with their results; a result of any other call is refused. */
export function matchResults(results: CallerResult[], last: Message | undefined): ToolCall[] {
  const open = new Map(openCallsOf(last).map((call) => [call.id, call]));
  return results.map(({ toolCallId, output, error }, index) => {
    const call = open.get(toolCallId);
    if (!call) throw invalid(`results.${index}`, 'must be the result of a call that the last answer waits for');
    open.delete(toolCallId);
    const bytes = Buffer.byteLength(JSON.stringify(error ?? output) ?? '');
    if (bytes > agentLimits.toolResultBytes)
      throw invalid(`results.${index}`, `must have at most ${agentLimits.toolResultBytes} bytes`);
    return error === undefined
      ? { ...call, status: 'done', output: output ?? null }
      : { ...call, status: 'error', error };
  });
}

/** The calls that an answer leaves to its caller. */
export function openCallsOf(answer: Pick<Message, 'finish' | 'toolCalls'> | undefined): ToolCall[] {
  if (answer?.finish !== 'tool_calls') return [];
  return (answer.toolCalls ?? []).filter(({ status }) => status === 'isRunning');
}

export function invalid(path: string, message: string): AppError {
  return new AppError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } });
}
