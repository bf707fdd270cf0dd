import { randomUUID } from 'node:crypto';
import { AppError, type Approval, type ErrorCode, type Message } from '@palaver/contract';
import type { AgentRun, OpenMessage, RunEvent } from '../define/agent-run.ts';
import type { Awaitable, ValueOf, ValueSchema } from '../define/tool.ts';
import { checkValue, toJsonSchema } from '../define/tool-arguments.ts';
import type { RunAccess } from '../runs/access.ts';
import type { OracleIdentity, SessionStore } from '../store/sessions.ts';
import type { CallSettings } from '../turn/behaviour.ts';
import { parsePartialJson } from './parse-partial-json.ts';

/** How the agent is called from code. */
export interface CallOptions<Schema extends ValueSchema = ValueSchema> {
  /** The DID of the user in whose name the message is sent; the agent's own unless given. */
  user?: string;
  timezone?: string;
  /** The id of a model that the agent offers. */
  model?: string;
  /** The form of the answer: the model is asked for JSON, and an answer of another form is an error. */
  output?: Schema;
  toolChoice?: CallSettings['toolChoice'];
  /** Answers approvals. Without it a named user is waited for, and what the agent asks in its own name is refused. */
  approve?(approval: Approval): Awaitable<boolean>;
  signal?: AbortSignal;
}

/** The answer to a call from code. */
export interface Answer<Output> {
  text: string;
  /** What was asked for with `output`; the text where nothing was. */
  output: Output;
  message: Message;
  runId: string;
  sessionId: string;
}

/** An answer that is still being made. Each stream begins at the start, whenever it is read. */
export interface AnswerStream<Output> {
  runId: string;
  sessionId: string;
  events: AsyncIterable<RunEvent>;
  textStream: AsyncIterable<string>;
  /** The object as far as it is there. */
  partialOutputStream: AsyncIterable<PartialOf<Output>>;
  /** Rejects with an `AppError` where the run fails or is aborted. */
  answer: Promise<Answer<Output>>;
  abort(): Promise<boolean>;
}

type PartialOf<Value> = Value extends object ? { [Key in keyof Value]?: PartialOf<Value[Key]> } : Value;

type Called<Result> = {
  (
    prompt: string,
    options?: Omit<CallOptions, 'output'>,
  ): Promise<Result extends 'answer' ? Answer<string> : AnswerStream<string>>;
  <Schema extends ValueSchema>(
    prompt: string,
    options: CallOptions<Schema> & { output: Schema },
  ): Promise<Result extends 'answer' ? Answer<ValueOf<Schema>> : AnswerStream<ValueOf<Schema>>>;
};

/** A conversation with the agent from code. */
export interface AgentSession {
  generate: Called<'answer'>;
  stream: Called<'stream'>;
  messages(): Promise<Message[]>;
}

/** The agent called from code: the same run, limits and store as through its doors. */
export interface AgentCalls {
  /** In a session of its own, which is removed once it is answered. */
  generate: Called<'answer'>;
  stream: Called<'stream'>;
  /** The session of this id or name, which is created with its first message. */
  session(name: string, options?: Pick<CallOptions, 'user'>): AgentSession;
}

export interface CallParts {
  access: Pick<RunAccess, 'open' | 'answerApproval'>;
  sessions: Pick<SessionStore, 'create' | 'findOrCreate' | 'remove'>;
  messages: { list(sessionId: string): Promise<Message[]> };
  oracle: Pick<OracleIdentity, 'did'>;
}

export function createCalls({ access, sessions, messages, oracle }: CallParts): AgentCalls {
  const userOf = ({ user = oracle.did }: Pick<CallOptions, 'user'>) => user;

  async function begin(prompt: string, sessionId: string, options: CallOptions): Promise<AnswerStream<unknown>> {
    const { timezone, model, output, toolChoice, signal } = options;
    const userDid = userOf(options);
    signal?.throwIfAborted();
    const message: OpenMessage = {
      userDid,
      sessionId,
      requestId: randomUUID(),
      timezone,
      answer: { schema: output && toJsonSchema(output), toolChoice },
      body: { message: prompt, stream: true, returnAllMessages: false, ...(model !== undefined && { model }) },
    };
    const run = await access.open(message);
    const abort = () => void run.abort().catch(() => {});
    signal?.addEventListener('abort', abort, { once: true });
    // It may have fired while the run was being opened.
    if (signal?.aborted) abort();
    const answer = toAnswer(run, options).finally(() => signal?.removeEventListener('abort', abort));
    answer.catch(() => {});
    return {
      runId: run.runId,
      sessionId,
      events: toIterable(() => run.events()),
      textStream: toIterable(() => readText(run)),
      partialOutputStream: toIterable(() => readPartial(run)),
      answer,
      abort: run.abort,
    };
  }

  async function toAnswer(run: AgentRun, { output, approve, user, signal }: CallOptions): Promise<Answer<unknown>> {
    const decide = approve ?? (user === undefined ? () => false : undefined);
    const answered = decide ? answerApprovals(run, decide, user ?? oracle.did) : Promise.resolve();
    const message = await Promise.race([answered.then(() => run.answer()), run.answer()]);
    const { content: text, status, error } = message;
    const { runId, sessionId } = run;
    if (status === 'aborted') throw signal?.reason ?? new AppError('UNAVAILABLE', 'The run was aborted.');
    if (status === 'failed' || error)
      throw new AppError((error?.code ?? 'INTERNAL') as ErrorCode, error?.message ?? 'The run failed.');
    if (!output) return { text, output: text, message, runId, sessionId };
    const checked = await checkValue(output, JSON.parse(text));
    if ('error' in checked) throw new AppError('MODEL_FAILED', `The answer is not as asked for: ${checked.error}`);
    return { text, output: checked.value, message, runId, sessionId };
  }

  async function answerApprovals(run: AgentRun, decide: NonNullable<CallOptions['approve']>, userDid: string) {
    for await (const { name, data } of run.events()) {
      if (name !== 'approval_request' || data.status !== 'pending') continue;
      const { approvalId } = data;
      try {
        const approved = await decide(data);
        await access.answerApproval({ userDid, runId: run.runId, approvalId, approved });
      } catch (error) {
        // The user was faster, or the run has ended.
        if (error instanceof AppError && error.code === 'APPROVAL_ANSWERED') continue;
        // Otherwise the run would wait for its user.
        await run.abort().catch(() => {});
        throw error;
      }
    }
  }

  async function once(prompt: string, options: CallOptions = {}): Promise<AnswerStream<unknown>> {
    const userDid = userOf(options);
    const { sessionId } = await sessions.create(userDid, {});
    const remove = () => sessions.remove(userDid, sessionId).then(() => {});
    try {
      const begun = await begin(prompt, sessionId, options);
      const answer = begun.answer.finally(remove);
      answer.catch(() => {});
      return { ...begun, answer };
    } catch (error) {
      await remove();
      throw error;
    }
  }

  const toCalls = (start: (prompt: string, options?: CallOptions) => Promise<AnswerStream<unknown>>) => ({
    generate: (async (prompt: string, options?: CallOptions) =>
      (await start(prompt, options)).answer) as Called<'answer'>,
    stream: start as Called<'stream'>,
  });

  return {
    ...toCalls(once),
    session(name, named = {}) {
      const find = () => sessions.findOrCreate(userOf(named), name);
      return {
        ...toCalls(async (prompt, options) => begin(prompt, (await find()).sessionId, { ...named, ...options })),
        messages: async () => messages.list((await find()).sessionId),
      };
    },
  };
}

const partialGrowth = 50;

function toIterable<Item>(read: () => AsyncIterable<Item>): AsyncIterable<Item> {
  return { [Symbol.asyncIterator]: () => read()[Symbol.asyncIterator]() };
}

async function* readText(run: AgentRun): AsyncIterable<string> {
  for await (const { name, data } of run.events()) if (name === 'message') yield data.content;
}

/** Read again whenever the text has grown by a part of itself, so that a long answer costs no more for each of its words. */
async function* readPartial(run: AgentRun): AsyncIterable<never> {
  let text = '';
  let read = 0;
  let last: string | undefined;
  function* show(): Iterable<never> {
    read = text.length;
    const value = parsePartialJson(text);
    const shown = JSON.stringify(value);
    if (shown !== undefined && shown !== last) yield value as never;
    last = shown;
  }
  for await (const piece of readText(run)) {
    text += piece;
    if (text.length - read >= read / partialGrowth) yield* show();
  }
  if (read < text.length) yield* show();
}
