import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { phoneNote, scheduledMessagePrefix } from '@palaver/contract/internal';
import { describeResult, phrasesFor } from './phrases.ts';
import { type AnswerStyle, readAnswerStyle, readRequest } from './requests.ts';

// Plain rules from what the model is given to what it answers. No network, no chance, no clock.

export interface OfflineReply {
  reasoning?: string;
  text: string;
  toolCalls: { name: string; args: Record<string, unknown> }[];
  paced?: boolean;
}

type Plan = Pick<OfflineReply, 'text'> & Partial<OfflineReply>;

interface OfflineQuestion {
  system: string;
  user: string;
  tools: { name: string; description: string }[];
  results: { name: string; output: unknown; failed: boolean }[];
}

const maxLongWords = 100_000;

export function toQuestion({
  prompt,
  tools = [],
}: Pick<LanguageModelV4CallOptions, 'prompt' | 'tools'>): OfflineQuestion {
  const question: OfflineQuestion = { system: '', user: '', results: [], tools: [] };
  for (const tool of tools)
    if (tool.type === 'function') question.tools.push({ name: tool.name, description: tool.description ?? '' });
  for (const message of prompt) {
    if (message.role === 'system') question.system += `${message.content}\n`;
    if (message.role === 'user') {
      const texts = message.content.map((part) => (part.type === 'text' ? part.text : ''));
      // A caller's system message is in front of the question, with a gap between.
      question.user = texts.slice(texts.lastIndexOf('\n\n') + 1).join('');
      question.results = [];
    }
    if (message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type !== 'tool-result') continue;
      const failed = part.output.type.startsWith('error');
      const output = 'value' in part.output ? part.output.value : undefined;
      question.results.push({ name: part.toolName, output, failed });
    }
  }
  return question;
}

export const planReply = (question: OfflineQuestion): OfflineReply => ({ toolCalls: [], ...plan(question) });

function plan(question: OfflineQuestion): Plan {
  if (question.results.length > 0) return reportResults(question);
  const text = question.user.trim();
  return (
    planSummary(text, question) ??
    planReminder(text, question) ??
    (isOnPhone(question.system) ? undefined : (planTool(text, question) ?? planLong(text))) ??
    planHelp(text, question) ??
    planRequest(text, question) ??
    planDefault(question)
  );
}

function planTool(text: string, { tools }: OfflineQuestion): Plan | undefined {
  const command = /^\/tool\s+(\S+)\s*([\s\S]*)$/.exec(text);
  if (!command) return undefined;
  const [, name = '', json = ''] = command;
  if (!tools.some((tool) => tool.name === name)) {
    const known = tools.map((tool) => tool.name).join(', ');
    return { text: `There is no tool "${name}". I have: ${known || 'none'}.` };
  }
  try {
    const args: unknown = json.trim() === '' ? {} : JSON.parse(json);
    if (typeof args !== 'object' || args === null || Array.isArray(args)) throw new Error('not an object');
    const toolCalls = [{ name, args: args as Record<string, unknown> }];
    return { reasoning: `The user asks for the tool ${name}.`, text: '', toolCalls };
  } catch {
    return {
      text: `The arguments of /tool ${name} must be a JSON object, for example /tool ${name} {"key": "value"}.`,
    };
  }
}

/** Before all requests: a reminder that is due is not a request for another. */
function planReminder(text: string, { system }: OfflineQuestion): Plan | undefined {
  if (!text.startsWith(scheduledMessagePrefix)) return undefined;
  const prompt = text.slice(scheduledMessagePrefix.length).trim();
  return { text: phrasesFor(system).reminder.replace('{prompt}', () => prompt) };
}

function planLong(text: string): Plan | undefined {
  const count = Number(/^\/long\s+0*([1-9]\d{0,5})$/.exec(text)?.[1] ?? Number.NaN);
  if (Number.isNaN(count)) return undefined;
  const words = Array.from({ length: Math.min(count, maxLongWords) }, (_, index) => `word${index + 1}`);
  return { text: words.join(' '), paced: true };
}

const help =
  /^(help|aide|msaada|\/help)[.!?]?$|what can you do|what are you able to|que peux-tu|unaweza kufanya nini|ماذا يمكنك أن تفعل/i;

function planHelp(text: string, { tools, system }: OfflineQuestion): Plan | undefined {
  if (!help.test(text)) return undefined;
  const say = phrasesFor(system, readAnswerStyle(text));
  if (isOnPhone(system)) return { text: capitalize(say.phone) };
  const list = tools.map(({ name, description }) => `- ${name}: ${description.split('\n')[0]}`);
  return { text: [say.abilities, ...list, say.toolHint].join('\n') };
}

function planRequest(text: string, { tools }: OfflineQuestion): Plan | undefined {
  const request = readRequest(text);
  if (!request || !tools.some(({ name }) => name === request.tool)) return undefined;
  return { reasoning: request.reasoning, text: '', toolCalls: [{ name: request.tool, args: request.args }] };
}

function planDefault({ system, user }: OfflineQuestion): Plan {
  const style = readAnswerStyle(user);
  const say = phrasesFor(system, style);
  const name = /^- Call the user: (.+)$/m.exec(system)?.[1];
  const text = isOnPhone(system) ? say.phone : isBrief(system, style) ? say.noModelBrief : say.noModel;
  return { text: name ? `${name}, ${text}` : capitalize(text) };
}

function isBrief(system: string, { length }: AnswerStyle): boolean {
  const wanted = length ?? /^- Answer length: (.*)$/im.exec(system)?.[1] ?? '';
  return /brief|short|concise/i.test(wanted);
}

/** A person who dials in can neither set variables nor name tools. */
const isOnPhone = (system: string): boolean => system.includes(phoneNote);

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function reportResults({ results, system }: OfflineQuestion): Plan {
  const say = phrasesFor(system);
  const lines = results.map(({ name, output, failed }) => {
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    if (/REAUTHORIZATION_REQUIRED/.test(text ?? '')) return say.reauthorize;
    if (failed) return isOnPhone(system) ? say.phoneFailed : `${say.toolFailed.replace('{name}', () => name)} ${text}`;
    return describeResult(say, name, output) ?? (isOnPhone(system) ? say.phoneDone : `${name}: ${text}`);
  });
  return { text: lines.join('\n') };
}

const maxCharacters = 1_500;
const lineCharacters = 120;

/** The user's own sentences, each shortened, the newest kept. */
function planSummary(text: string, { system }: OfflineQuestion): Plan | undefined {
  if (!system.startsWith('Summarise this conversation ')) return undefined;
  const [, earlier = '', transcript = ''] =
    /^(?:Summary so far:\n([\s\S]*?)\n\n)?Conversation:\n([\s\S]*)$/.exec(text) ?? [];
  const said = transcript
    .split('\n')
    .flatMap((line) => (line.startsWith('User: ') ? [line.slice('User: '.length, lineCharacters).trim()] : []));
  const known = earlier.replace(/^The user said: /, '').split(' | ');
  const all = [...known, ...said].filter((line) => line !== '');
  let summary = all.join(' | ');
  while (summary.length > maxCharacters && all.length > 1) {
    all.shift();
    summary = all.join(' | ');
  }
  return { text: `The user said: ${summary.slice(0, maxCharacters)}` };
}
