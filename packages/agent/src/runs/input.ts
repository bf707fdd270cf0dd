import {
  AppError,
  type Attachment,
  agentLimits,
  type Message,
  type SendMessage,
  sendMessageSchema,
  type ToolCall,
} from '@palaver/contract';
import { browserToolSchema, invalid, type MessageAttachment } from '@palaver/contract/internal';
import { measureJson } from '@palaver/service-kit/internal';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import type { CallerResult, OpenMessage } from '../define/agent-run.ts';
import type { PendingSend, TurnEnd } from '../define/middleware.ts';
import type { BlobSource, BlobStore } from '../define/runtime-context.ts';
import { isNestedDeeper } from '../define/tool-arguments.ts';
import { type KeptFile, type StoredMessage, toParts } from '../store/message.ts';

export interface Turn
  extends CallerInput,
    Pick<OpenMessage, 'call' | 'socketId' | 'client'>,
    Pick<PendingSend, 'sendId' | 'requestId' | 'model' | 'secrets'> {
  session: { sessionId: string; roomId: string; isNamed: boolean };
  /** `delegation`: the user's to this agent, for calls downstream. */
  user: { did: string; delegation?: string | undefined };
  body: SendMessage;
  /** Calls of an earlier run that the caller has answered. */
  results?: ToolCall[] | undefined;
  timezone: string | undefined;
  /** Who opened it finds it again: where the service stops, the next process continues it. */
  isKeyed?: boolean | undefined;
  blobs: TurnBlobs;
}

export type Usage = { inputTokens: number; outputTokens: number };

export type UsageByModel = Record<string, Usage>;

/** About the bytes of what its message brought; files are counted where they are read. */
export function turnSizeOf(turn: Turn): number {
  const { body, callerTools, results, earlier, context, call, answer, user, secrets } = turn;
  return sizeOf([body, callerTools, results, earlier, context, call, answer, user, secrets]);
}

/** What an empty object takes, and its place in another. */
const valueSize = 100;

/** About the bytes that a value takes in memory, where texts may have two for each character. */
export function sizeOf(value: unknown): number {
  let size = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    size += valueSize;
    if (typeof next === 'string') size += 2 * next.length;
    else if (typeof next === 'object' && next !== null)
      for (const [name, inner] of Object.entries(next)) {
        if (!Array.isArray(next)) size += 2 * name.length;
        left.push(inner);
      }
  }
  return size;
}

export function withoutInput({ callerTools, results, earlier, context, call, answer, ...turn }: Turn): Turn {
  return { ...turn, body: { message: '', stream: turn.body.stream, returnAllMessages: false } };
}

/** The field of `done`; none where no model was asked. */
export function toUsageField(usage: Usage): { usage?: Usage } {
  return usage.inputTokens + usage.outputTokens > 0 ? { usage: { ...usage } } : {};
}

export function toTurnEnd(
  { sendId, user, session, model }: Turn,
  end: Pick<TurnEnd, 'runId' | 'status' | 'usage' | 'usageByModel'> = refused,
): TurnEnd {
  return { sendId, userDid: user.did, sessionId: session.sessionId, model, ...end, usage: { ...end.usage } };
}

const refused = {
  runId: undefined,
  status: 'refused',
  usage: { inputTokens: 0, outputTokens: 0 },
  usageByModel: {},
} as const;

const storedInputSchema = z.object({
  sendId: z.string(),
  timezone: z.string().optional(),
  socketId: z.string().optional(),
  client: z.string().optional(),
  isKeyed: z.boolean().optional(),
  callerTools: z.array(browserToolSchema).optional(),
  context: z.array(z.string()).optional(),
  call: z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) }).optional(),
  answer: z
    .object({
      schema: z.record(z.string(), z.unknown()),
      toolChoice: z.union([
        z.object({ type: z.enum(['auto', 'none', 'required']) }),
        z.object({ type: z.literal('tool'), toolName: z.string() }),
      ]),
    })
    .partial()
    .optional(),
  body: sendMessageSchema.omit({ message: true }),
});

/** What another instance needs to take over a run, in addition to the session. */
export type RunInput = Omit<Turn, 'session' | 'user' | 'requestId' | 'model' | 'secrets' | 'blobs'>;

/** Null for a message with credentials or files that are in memory alone: nobody else can continue with them. */
export function toStoredInput({ body, blobs, ...turn }: Turn): string | null {
  const hasFiles = body.attachments?.length || blobs.list().length > 0;
  if (body.mcpInvocations || (hasFiles && !blobs.areStored())) return null;
  const { message: _, ...rest } = body;
  const { sendId, timezone, socketId, client, isKeyed, callerTools, context, call, answer } = turn;
  return JSON.stringify({
    sendId,
    timezone,
    socketId,
    client,
    isKeyed,
    callerTools,
    context,
    call,
    answer,
    body: rest,
  });
}

/** The id of the message a run answers, for plugins; undefined if the input was not stored. */
export function sendIdOf(input: string | null): string | undefined {
  return storedInputSchema.pick({ sendId: true }).safeParse(JSON.parse(input ?? 'null')).data?.sendId;
}

/** Undefined if another version stored it in another form. */
export function parseStoredInput(text: string, question: StoredMessage): RunInput | undefined {
  const parsed = storedInputSchema.safeParse(JSON.parse(text));
  if (!parsed.success) return undefined;
  const { body, ...input } = parsed.data;
  const { content: message, toolCalls: results, earlier } = question;
  return { timezone: undefined, ...input, results, earlier, body: { ...body, message } };
}

const callerToolsSchema = z.array(browserToolSchema).max(agentLimits.declaredTools);

type CallerInput = Pick<OpenMessage, 'callerTools' | 'earlier' | 'context' | 'answer'>;
type PageTools = Pick<SendMessage, 'tools' | 'agActions'>;

/** Refuses input of a caller that is too large; of the schemas of its tools only size and depth are checked. */
export function checkCallerInput(
  { callerTools, earlier = [], context = [], answer }: CallerInput,
  { tools: pageTools = [], agActions = [] }: PageTools,
): CallerInput {
  const tools = callerToolsSchema.safeParse(callerTools ?? []);
  if (!tools.success) {
    const [issue] = tools.error.issues;
    throw invalid(`tools.${issue?.path.join('.')}`, issue?.message ?? 'is not valid');
  }
  let [bytes, values] = [0, 0];
  const form = answer?.schema ? [{ schema: answer.schema }] : [];
  for (const [index, tool] of [...tools.data, ...pageTools, ...agActions, ...form].entries()) {
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
    answer,
  };
}

/** A result of any other call than the open ones is refused. */
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

/**
 * The calls that an answer leaves to its caller.
 *
 * @example
 * ```ts
 * import { openCallsOf, type PluginContext } from '@palaver/agent';
 *
 * export const open = async ({ messages }: PluginContext, id: string) => openCallsOf(await messages.last(id));
 * ```
 */
export function openCallsOf(answer: Pick<Message, 'finish' | 'toolCalls'> | undefined): ToolCall[] {
  if (answer?.finish !== 'tool_calls') return [];
  return (answer.toolCalls ?? []).filter(({ status }) => status === 'isRunning');
}

export function toQuestion({ body, requestId, blobs, results, earlier }: Turn, now: number): StoredMessage {
  const held = {
    content: body.message,
    ...(results?.length && { toolCalls: results }),
    ...(body.attachments?.length && { attachments: body.attachments.map(toMessageAttachment) }),
  };
  return {
    id: body.messageId ?? uuidv7(),
    type: 'human',
    createdAt: new Date(now).toISOString(),
    status: 'complete',
    requestId,
    replaces: body.replaces,
    ...held,
    parts: toParts(held),
    files: toKeptFiles(blobs),
    earlier,
  };
}

function toMessageAttachment({ file, ...attachment }: Attachment): MessageAttachment {
  return file ? { mxcUri: file.url, ...attachment } : attachment;
}

/** Bytes of the files of one message together: every later turn of the session reads them. */
const maxKeptBytes = 100_000;

/** Texts that fit, everything else by name. */
export function toKeptFiles(blobs: BlobStore): KeptFile[] | undefined {
  let bytesLeft = maxKeptBytes;
  const files = blobs.list().map((name): KeptFile => {
    const blob = blobs.get(name);
    if (!blob?.mediaType.startsWith('text/') || blob.bytes.length > bytesLeft) return { name };
    bytesLeft -= blob.bytes.length;
    return { name, text: Buffer.from(blob.bytes).toString('utf8') };
  });
  return files.length === 0 ? undefined : files;
}

export interface TurnBlobs extends BlobStore {
  release(): void;
  load(signal: AbortSignal): Promise<void>;
  areStored(): boolean;
}

const noBytes = new Uint8Array();

export function createBlobStore(): TurnBlobs {
  const blobs = new Map<string, { bytes: Uint8Array; mediaType: string }>();
  let source: BlobSource | undefined;
  let isReleased = false;
  return {
    put: (name, bytes, mediaType) => void blobs.set(name, { bytes, mediaType }),
    get: (name) => blobs.get(name),
    list: () => [...blobs.keys()],
    readAgainFrom(given) {
      source = given;
    },
    release() {
      if (!source || isReleased) return;
      isReleased = true;
      for (const name of source.names()) {
        const { mediaType = '' } = blobs.get(name) ?? {};
        blobs.set(name, { bytes: noBytes, mediaType });
      }
      source.release();
    },
    async load(signal) {
      if (!isReleased) return;
      await source?.load(signal);
      isReleased = false;
    },
    areStored() {
      const stored = new Set(source?.names());
      return source?.isStored === true && [...blobs.keys()].every((name) => stored.has(name));
    },
  };
}

const maxCharacters = 60;

export function toSessionTitle(message: string): string {
  const [line = ''] = message.trim().split('\n');
  const words = line.replaceAll(/\s+/g, ' ').trim();
  const characters = [...words];
  if (characters.length <= maxCharacters) return words || 'Chat';
  const cut = characters.slice(0, maxCharacters).join('');
  const lastSpace = cut.lastIndexOf(' ');
  return `${(lastSpace > maxCharacters / 2 ? cut.slice(0, lastSpace) : cut).trimEnd()}…`;
}
