import { applyEvent, type ChatMessage } from '../core/chat-message.ts';
import { createRandomId } from '../core/random-id.ts';
import type { SocketChannelOptions } from '../core/socket-channel.ts';
import type { Approval, Arguments, SocketEvent, StreamEvent, StreamEventData } from '../core/wire.ts';

interface FakeRunParts {
  steps: readonly FakeStep[];
  message: FakeMessage;
  requestId: string;
  userMessageId: string;
  sockets(): readonly SocketChannelOptions[];
  onEnd(answer: ChatMessage): void;
}

export interface ClientOutcome {
  result?: unknown;
  error?: string | undefined;
}

export type FakeRun = ReturnType<typeof startFakeRun>;

export function startFakeRun({ steps, message, requestId, userMessageId, sockets, onEnd }: FakeRunParts) {
  const runId = createRandomId();
  const messageId = createRandomId();
  const { sessionId, body } = message;
  const inTurn = { sessionId, requestId };
  const frames: string[] = [];
  const readers = new Set<() => void>();
  const connections = new Set<() => void>();
  const calls = new Map<string, (outcome: ClientOutcome) => void>();
  const approvals = new Map<string, { approval: Approval; answer(approval: Approval): void }>();
  const aborted = new AbortController();
  const whenAborted = new Promise<never>((_, reject) => {
    aborted.signal.addEventListener('abort', () => reject(aborted.signal.reason));
  });
  whenAborted.catch(() => {});
  let isEnded = false;
  const createdAt = new Date().toISOString();
  const local = { key: messageId, id: messageId, storedId: messageId, isStored: true };
  let answer: ChatMessage = { ...local, type: 'ai', content: '', createdAt, status: 'streaming', requestId };

  function emit<Name extends keyof StreamEventData>(eventName: Name, payload: StreamEventData[Name]): void {
    answer = applyEvent(answer, { eventName, payload } as unknown as StreamEvent);
    frames.push(`id: ${frames.length + 1}\nevent: ${eventName}\ndata: ${JSON.stringify(payload)}\n\n`);
    for (const wake of [...readers]) wake();
  }

  async function callPage(name: string, args: Arguments, kind: 'action_call' | 'browser_tool_call'): Promise<void> {
    const call = { ...inTurn, toolCallId: createRandomId(), toolName: name, args };
    emit(kind, { ...call, status: 'isRunning' });
    const socket = sockets().at(-1);
    const outcome = new Promise<ClientOutcome>((resolve) => calls.set(call.toolCallId, resolve));
    const event = { eventName: kind, payload: { ...call, status: 'isRunning' } } as SocketEvent;
    if (socket) socket.onEvent(event);
    const { result, error } = socket ? await outcome : { error: 'No page is connected.' };
    emit(kind, { ...call, ...(error === undefined ? { status: 'done', output: result } : { status: 'error', error }) });
  }

  async function callTool(call: { name: string; args?: Arguments; output?: unknown; error?: string }): Promise<void> {
    const { name: toolName, args = {}, output, error } = call;
    if (isDeclared(body.tools, toolName)) return callPage(toolName, args, 'browser_tool_call');
    if (isDeclared(body.agActions, toolName)) return callPage(toolName, args, 'action_call');
    const base = { ...inTurn, eventId: createRandomId(), toolName, args };
    emit('tool_call', { ...base, status: 'isRunning' });
    emit('tool_call', { ...base, ...(error === undefined ? { status: 'done', output } : { status: 'error', error }) });
  }

  async function askFirst({ toolName, args = {}, output }: { toolName: string; args?: Arguments; output?: unknown }) {
    const pending: Approval = {
      approvalId: createRandomId(),
      toolCallId: createRandomId(),
      toolName,
      args,
      status: 'pending',
      askedAt: new Date().toISOString(),
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    };
    const answered = new Promise<Approval>((resolve) => {
      approvals.set(pending.approvalId, { approval: pending, answer: resolve });
    });
    emit('approval_request', { ...inTurn, runId, ...pending });
    const approval = await answered;
    emit('approval_request', { ...inTurn, runId, ...approval });
    const error = approval.status === 'approved' ? undefined : (approval.reason ?? 'The user has refused.');
    await callTool({ name: toolName, args, ...(error === undefined ? { output } : { error }) });
  }

  async function take(step: FakeStep): Promise<void> {
    if (typeof step === 'string') emit('message', { content: step, timestamp: new Date().toISOString() });
    else if ('reasoning' in step) emit('reasoning', { ...inTurn, reasoning: step.reasoning, isComplete: true });
    else if ('toolCall' in step) await callTool(step.toolCall);
    else if ('approval' in step) await askFirst(step.approval);
    else if ('component' in step) {
      const { componentName, args = {} } = step.component;
      emit('render_component', { ...inTurn, eventId: createRandomId(), componentName, args, status: 'done' });
    } else if ('delayMs' in step) await new Promise((resolve) => setTimeout(resolve, step.delayMs));
    else if ('until' in step) await step.until;
    else if ('disconnect' in step) for (const cut of [...connections]) cut();
    else if ('error' in step) throw new ScriptedError(step.error);
  }

  async function carryOut(): Promise<void> {
    let status: StreamEventData['done']['status'] = 'complete';
    emit('run', { ...inTurn, runId, messageId, userMessageId });
    try {
      for (const step of steps) await Promise.race([take(step), whenAborted]);
    } catch (error) {
      status = aborted.signal.aborted ? 'aborted' : 'failed';
      if (status === 'failed') {
        const { code, message: text = 'The answer failed.', retryable = false } = toFault(error);
        emit('error', { error: text, code, kind: 'internal', retryable, timestamp: new Date().toISOString() });
      }
    }
    isEnded = true;
    emit('done', { runId, messageId, status });
    onEnd(answer);
  }

  return {
    runId,
    isEnded: () => isEnded,
    /** Called once the run can be found by its id. */
    start: () => void carryOut(),
    abort: () => aborted.abort(new Error('stopped')),
    takeOutcome: (toolCallId: string, outcome: ClientOutcome) => calls.get(toolCallId)?.(outcome),
    answerApproval(approvalId: string, { approved, reason }: { approved: boolean; reason?: string }) {
      const found = approvals.get(approvalId);
      if (!found) return undefined;
      const answeredAt = new Date().toISOString();
      const status = approved ? ('approved' as const) : ('refused' as const);
      const approval: Approval = { ...found.approval, status, answeredAt, ...(reason && { reason }) };
      found.answer(approval);
      return approval;
    },
    read(after: number, signal?: AbortSignal | null): ReadableStream<Uint8Array> {
      const encoder = new TextEncoder();
      let next = after;
      let close = () => {};
      return new ReadableStream({
        start(controller) {
          const send = () => {
            for (; next < frames.length; next += 1) controller.enqueue(encoder.encode(frames[next]));
            if (!isEnded) return;
            close();
            controller.close();
          };
          const cut = () => {
            close();
            controller.error(new TypeError('The connection broke.'));
          };
          close = () => {
            readers.delete(send);
            connections.delete(cut);
            signal?.removeEventListener('abort', cut);
          };
          readers.add(send);
          connections.add(cut);
          signal?.addEventListener('abort', cut);
          send();
        },
        cancel: () => close(),
      });
    },
  };
}

class ScriptedError extends Error {
  readonly fault: Extract<FakeStep, { error: unknown }>['error'];
  constructor(fault: ScriptedError['fault']) {
    super(fault.message);
    this.fault = fault;
  }
}

/** What a function of the script threw is the test's own fault; its message is shown. */
function toFault(error: unknown): ScriptedError['fault'] {
  if (error instanceof ScriptedError) return error.fault;
  return { code: 'SCRIPT_FAILED', message: error instanceof Error ? error.message : String(error) };
}

function isDeclared(declared: unknown, name: string): boolean {
  return Array.isArray(declared) && declared.some((tool: { name?: unknown }) => tool.name === name);
}

/** One thing that the agent does while it answers. A string is text of the answer. */
export type FakeStep =
  | string
  | { reasoning: string }
  /** A tool that the page has declared (`browserTools`, `useAgAction`) runs there; any other ends with this `output` or `error`. */
  | { toolCall: { name: string; args?: Arguments; output?: unknown; error?: string } }
  /** Asks the user first. An approved call ends with `output`. */
  | { approval: { toolName: string; args?: Arguments; output?: unknown } }
  | { component: { componentName: string; args?: Arguments } }
  | { delayMs: number }
  | { until: Promise<unknown> }
  /** The connection breaks, and the page resumes. */
  | { disconnect: true }
  | { error: { code: string; message?: string; retryable?: boolean } }
  /** As the first step: the message is refused with this status. */
  | { refuse: { status: number; code: string; message?: string; retryAfterSeconds?: number; details?: object } };

/** A message as the agent got it. */
export interface FakeMessage {
  sessionId: string;
  message: string;
  /** The whole body: `metadata`, `attachments`, `tools` and so on. */
  body: Record<string, unknown>;
}

export type FakeAnswer = FakeStep | readonly FakeStep[] | ((message: FakeMessage) => FakeStep | readonly FakeStep[]);

export interface FakeAgentOptions {
  /** One answer per message, in order, or a function that answers all. */
  answers?: readonly FakeAnswer[] | Extract<FakeAnswer, (message: FakeMessage) => unknown>;
  models?: readonly { id: string; name: string }[];
}

export function toSteps(answer: FakeAnswer, message: FakeMessage): readonly FakeStep[] {
  const steps = typeof answer === 'function' ? answer(message) : answer;
  return isList(steps) ? steps : [steps];
}

// `Array.isArray` does not narrow to readonly arrays.
const isList = (steps: FakeStep | readonly FakeStep[]): steps is readonly FakeStep[] => Array.isArray(steps);
