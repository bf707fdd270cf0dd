import type { AgentRun, AnswerForm, CallerTool, EarlierMessage, PluginContext, Sender } from '@palaver/agent';
import { AppError, type ToolCall } from '@palaver/contract';
import { invalid, parseJson } from '@palaver/contract/internal';
import { describeRoutes, isJsonTooDeep, signalOf, toReply } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { abortOnLeave, type InlineFile, keepFiles, refuseApprovals, toBody } from '../define-door.ts';
import { type Answer, collectAnswer, sendEventStream } from '../translate-run.ts';

export const route = describeRoutes('OpenAI');
export const openAiReply = { 200: toReply('The answer, or its stream', 'application/json', 'text/event-stream') };

export type RunBase = { id: string; created: number; model: string };

interface Served {
  request: FastifyRequest & { body: { model?: string | undefined; stream?: boolean | null | undefined } };
  reply: FastifyReply;
  prefix: string;
  isTemporary: boolean;
  open(sender: Sender): Promise<AgentRun>;
  toEvents(run: AgentRun, base: RunBase, signal: AbortSignal): AsyncIterable<string>;
  toWhole(answer: Answer, base: RunBase): object;
}

/** The run ends with its client. */
export async function serveRun(ctx: PluginContext, served: Served): Promise<object> {
  const { request, reply, prefix } = served;
  const { stream, model } = request.body;
  checkModel(ctx, model);
  const signal = signalOf(reply);
  const sender = ctx.senderOf(request, reply);
  const run = refuseApprovals(ctx, sender.userDid, await served.open(sender));
  abortOnLeave(run, signal);
  const created = Math.floor(Date.now() / 1000);
  const base = { id: `${prefix}${run.runId}`, created, model: model ?? ctx.models.list.default };
  try {
    if (stream) return await sendEventStream(reply, served.toEvents(run, base, signal));
    return served.toWhole(await collectAnswer(run, signal), base);
  } finally {
    if (served.isTemporary) {
      // A client that has left: its run ends first.
      await run.answer().catch(() => undefined);
      await ctx.sessions.remove(sender.userDid, run.sessionId);
    }
  }
}

const codes: Record<string, string> = {
  RATE_LIMITED: 'rate_limit_exceeded',
  PAYMENT_REQUIRED: 'insufficient_quota',
  NOT_FOUND: 'unknown_url',
};

const types: Record<number, string> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  429: 'rate_limit_error',
};

const issuesSchema = z.array(z.object({ path: z.string() })).catch([]);

export const openAiErrorSchema = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string().nullable() }),
});

export function checkModel({ models }: Pick<PluginContext, 'models'>, model: string | undefined): void {
  if (model === undefined || models.list.models.some(({ id }) => id === model)) return;
  const message = `The model ${JSON.stringify(model.slice(0, 60))} does not exist. GET /v1/models lists those there are.`;
  throw new AppError('NOT_FOUND', message, { details: { issues: [{ path: 'model', message }] } });
}

export function toOpenAiError(error: AppError) {
  const { statusCode, code, message, details } = error;
  const [issue] = issuesSchema.parse(details.issues);
  const isModel = statusCode === 404 && issue?.path === 'model';
  return {
    error: {
      message,
      type: types[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'server_error'),
      param: issue?.path ?? null,
      code: statusCode === 401 ? 'invalid_api_key' : isModel ? 'model_not_found' : (codes[code] ?? code.toLowerCase()),
    },
  };
}

const fileFields = {
  file_data: z.string().optional(),
  file_url: z.string().optional(),
  file_id: z.string().nullish(),
  filename: z.string().optional(),
};
const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  /** Of chat completions an object, of responses an address. */
  image_url: z.union([z.string(), z.looseObject({ url: z.string() }).transform(({ url }) => url)]).nullish(),
  file: z.looseObject(fileFields).optional(),
  ...fileFields,
});
export const contentSchema = z.union([z.string(), z.array(partSchema)]);

export type OpenAiContent = z.infer<typeof contentSchema>;

export const chatMessageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema.nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().optional(),
});

const argumentsSchema = z.record(z.string(), z.unknown()).catch({});

/** Arguments of calls are texts. One that is not an object, or is nested too deep, counts as empty. */
const parseArguments = (text: string) => (isJsonTooDeep(text) ? {} : argumentsSchema.parse(parseJson(text)));

const named = z.object({ name: z.string() });
export const toolChoiceSchema = z
  .union(
    [
      z.enum(['auto', 'none', 'required']),
      // As chat completions and responses name it.
      z.looseObject({ type: z.literal('function'), function: named }).transform((choice) => choice.function),
      z.looseObject({ type: z.literal('function'), ...named.shape }),
    ],
    { error: 'must be auto, none, required or a function' },
  )
  .nullish();
const schemaOf = { schema: z.record(z.string(), z.unknown()) };
export const formatSchema = z
  .union(
    [
      z.looseObject({ type: z.literal('text') }).transform(() => undefined),
      z.looseObject({ type: z.literal('json_object') }).transform(() => ({ type: 'object' })),
      // As chat completions and responses write it.
      z
        .looseObject({ type: z.literal('json_schema'), json_schema: z.looseObject(schemaOf) })
        .transform((format) => format.json_schema.schema),
      z.looseObject({ type: z.literal('json_schema'), ...schemaOf }).transform((format) => format.schema),
    ],
    { error: 'must be text, json_object or json_schema with a schema' },
  )
  .nullish();

export function toAnswerForm(
  choice: z.infer<typeof toolChoiceSchema>,
  schema: z.infer<typeof formatSchema>,
  callerTools: CallerTool[],
): AnswerForm {
  const form = { schema: schema ?? undefined };
  if (choice === 'required') return { ...form, toolChoice: { type: choice } };
  if (typeof choice !== 'object' || choice === null) return form;
  if (!callerTools.some(({ name }) => name === choice.name))
    throw invalid('tool_choice', `must name a tool of the request; there is no ${choice.name}`);
  return { ...form, toolChoice: { type: 'tool', toolName: choice.name } };
}

export function toText(content: OpenAiContent | null | undefined, path: string, takesFiles: boolean): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content
    .map(({ type, text }) => {
      if (text === undefined && !(takesFiles && fileTypes.has(type)))
        throw invalid(path, `must be text; ${type} is not supported here`);
      return text ?? '';
    })
    .join('');
}

const fileTypes = new Set(['image_url', 'input_image', 'file', 'input_file']);

export function toFiles(content: OpenAiContent | null | undefined): InlineFile[] {
  if (typeof content !== 'object' || content === null) return [];
  return content.flatMap(({ type, image_url: image, file, ...part }) => {
    const { file_data: data, file_url: url, file_id: id, filename } = file ?? part;
    return fileTypes.has(type) ? [{ filename, data: image ?? data ?? url, fileId: id ?? undefined }] : [];
  });
}

type Asked = ReturnType<ReturnType<typeof createConversation>['split']> & { model: string | undefined; path: string };

export async function toQuestion<More extends Asked>(ctx: PluginContext, sender: Sender, asked: More) {
  const { files, message, model, path, ...more } = asked;
  const attachments = await keepFiles(ctx, sender, { files, path });
  return { ...sender, ...more, body: toBody(message, { model, attachments }) };
}

export function createConversation() {
  const earlier: EarlierMessage[] = [];
  const filesOf = new Map<EarlierMessage, InlineFile[]>();
  const calls = new Map<string, ToolCall>();
  return {
    /** Words of the user; those of a system message are the user's too. */
    say(content: string, sent: InlineFile[] = []): void {
      const message: EarlierMessage = { type: 'human', content };
      earlier.push(message);
      filesOf.set(message, sent);
    },
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
    /** The last words of the user, which are the question, and what was before them: of earlier files only the names. */
    split(hasResults = false): { message: string; files: InlineFile[]; earlier: EarlierMessage[] } {
      const last = earlier.at(-1);
      for (const [message, files] of filesOf)
        if (message !== last)
          message.content += files.map(({ filename = 'unnamed' }) => `\n[File ${filename}]`).join('');
      if (last?.type === 'human')
        return { message: last.content, files: filesOf.get(last) ?? [], earlier: earlier.slice(0, -1) };
      if (!hasResults && !last?.toolCalls?.some(({ status }) => status === 'done'))
        throw invalid('messages', 'must end with a message of the user or a result of a tool');
      return { message: '', files: [], earlier };
    },
  };
}
