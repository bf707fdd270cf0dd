import type { Arguments } from '../core/wire.ts';

/** One thing that the agent does while it answers. A string is text of the answer. */
export type FakeStep =
  | string
  | { reasoning: string }
  /**
   * A call of a tool. One that the page has declared (`browserTools`, `useAgAction`) runs there; any other ends with the
   * `output` or `error` given here.
   */
  | { toolCall: { name: string; args?: Arguments; output?: unknown; error?: string } }
  /** Asks the user first. An approved call ends with `output`. */
  | { approval: { toolName: string; args?: Arguments; output?: unknown } }
  | { component: { componentName: string; args?: Arguments } }
  | { delayMs: number }
  /** Continues when the promise settles. */
  | { until: Promise<unknown> }
  /** The connection breaks, and the page resumes. */
  | { disconnect: true }
  /** The answer fails here. */
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

/** What the agent does for one message. */
export type FakeAnswer = FakeStep | readonly FakeStep[] | ((message: FakeMessage) => FakeStep | readonly FakeStep[]);

export interface FakeAgentOptions {
  /** One answer per message, in order, or a function that answers all. */
  answers?: readonly FakeAnswer[] | Extract<FakeAnswer, (message: FakeMessage) => unknown>;
  /** What a page can choose from; the first is the default. */
  models?: readonly { id: string; name: string }[];
}

export function toSteps(answer: FakeAnswer, message: FakeMessage): readonly FakeStep[] {
  const steps = typeof answer === 'function' ? answer(message) : answer;
  return isList(steps) ? steps : [steps];
}

// `Array.isArray` does not narrow to readonly arrays.
const isList = (steps: FakeStep | readonly FakeStep[]): steps is readonly FakeStep[] => Array.isArray(steps);
