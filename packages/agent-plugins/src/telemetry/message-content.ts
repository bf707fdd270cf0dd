import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Attributes } from '@opentelemetry/api';
import type { ModelCall, ModelResult } from '@palaver/agent';

/** What the model is asked, in the form of OpenTelemetry's conventions. */
export function toContentOfCall({ prompt }: ModelCall): Attributes {
  return { 'gen_ai.input.messages': JSON.stringify(prompt.map(toMessage)) };
}

/** What it answers. */
export function toContentOfResult({ text, toolCalls }: ModelResult, finishReason: string): Attributes {
  const parts = [
    ...(text === '' ? [] : [{ type: 'text', content: text }]),
    ...toolCalls.map(({ id, name, args }) => ({ type: 'tool_call', id, name, arguments: args })),
  ];
  return { 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts, finish_reason: finishReason }]) };
}

type PromptMessage = LanguageModelV4Prompt[number];

function toMessage({ role, content }: PromptMessage) {
  return { role, parts: typeof content === 'string' ? [{ type: 'text', content }] : content.map(toPart) };
}

function toPart(part: Exclude<PromptMessage['content'], string>[number]) {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'tool-call':
      return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input };
    case 'tool-result':
      return { type: 'tool_call_response', id: part.toolCallId, response: part.output };
    default:
      // Files would make spans of megabytes.
      return { type: part.type };
  }
}
