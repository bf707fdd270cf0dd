import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Message, ToolCall } from '@palaver/contract';

const charactersPerToken = 4;
const maxToolOutput = 4_000;

/** A rough count, good enough to stay well within a model's context. */
export function estimateTokens(messages: Message[]): number {
  const size = messages.reduce((sum, { content, toolCalls }) => sum + content.length + (toolCalls ? JSON.stringify(toolCalls).length : 0), 0);
  return Math.ceil(size / charactersPerToken);
}

/** What was said before, as the model reads it: tools that were used included, answers that failed left out. */
export function toPromptHistory(messages: Message[]): LanguageModelV4Prompt {
  return messages.flatMap((message) => (message.type === 'human' ? [toUserMessage(message.content)] : toAnswer(message)));
}

export function toUserMessage(text: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function toAnswer({ content, toolCalls = [] }: Message): LanguageModelV4Prompt {
  const ended = toolCalls.filter(({ status }) => status !== 'isRunning');
  const prompt: LanguageModelV4Prompt = [];
  if (ended.length > 0) {
    prompt.push(
      { role: 'assistant', content: ended.map(({ id, name, args }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input: args })) },
      { role: 'tool', content: ended.map(toResult) },
    );
  }
  if (content !== '') prompt.push({ role: 'assistant', content: [{ type: 'text', text: content }] });
  return prompt;
}

function toResult({ id, name, output, error }: ToolCall) {
  const value = (error ?? JSON.stringify(output) ?? '').slice(0, maxToolOutput);
  const type: 'text' | 'error-text' = error === undefined ? 'text' : 'error-text';
  return { type: 'tool-result' as const, toolCallId: id, toolName: name, output: { type, value } };
}
