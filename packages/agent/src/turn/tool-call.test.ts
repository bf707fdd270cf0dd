import { createLogger } from '@palaver/service-kit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import type { Middleware } from '../define/middleware.ts';
import { type RuntimeContext, ToolError } from '../define/runtime-context.ts';
import type { LoadedPlugin } from '../define/select-plugins.ts';
import type { Tool } from '../define/tool.ts';
import { createTurnMiddlewares } from './plugins.ts';
import { type ArgumentFaults, runToolCall } from './tool-call.ts';

interface Options {
  args?: unknown;
  faults?: ArgumentFaults;
  signal?: AbortSignal;
  middlewares?: Middleware[];
}

function run(tool: Tool | undefined, { args = {}, faults = new Map(), signal, middlewares = [] }: Options = {}) {
  const rt = {
    abortSignal: signal ?? new AbortController().signal,
    logger: createLogger({ name: 'test', level: 'silent' }),
    history: [],
    message: { message: 'hello' },
  } as unknown as RuntimeContext;
  const plugin = { name: 'test', middlewares } as unknown as LoadedPlugin;
  const all = createTurnMiddlewares([plugin], rt);
  const approval = { isApproved: false };
  return runToolCall({ toolCallId: 'c1', toolName: 'greet', args }, { tool, rt, middlewares: all, faults, approval });
}

const greet: Tool = {
  description: 'Greets',
  inputSchema: z.object({ name: z.string() }),
  execute: ({ name }: { name: string }) => ({ greeting: `Hello ${name}` }),
};

it('gives what the tool returns', async () => {
  expect(await run(greet, { args: { name: 'Ana' } })).toEqual({ output: { greeting: 'Hello Ana' } });
});

it('a tool that reports progress is waited for beyond its time limit', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const slow: Tool = {
    description: 'Reports',
    inputSchema: z.object({}),
    timeoutMs: 1_000,
    async execute(_args, { reportProgress }) {
      for (let value = 1; value <= 5; value += 1) {
        await new Promise((resolve) => setTimeout(resolve, 300));
        reportProgress({ value });
      }
      return 'done';
    },
  };
  const result = run(slow);
  await vi.advanceTimersByTimeAsync(1_500);
  expect(await result).toEqual({ output: 'done' });
});

it('the model learns that a tool does not exist', async () => {
  expect(await run(undefined)).toEqual({ error: 'TOOL_UNAVAILABLE: there is no tool greet.' });
});

describe('arguments', () => {
  it('may be corrected once; then the tool is closed', async () => {
    const faults: ArgumentFaults = new Map();
    const first = await run(greet, { args: { name: 5 }, faults });
    expect(first.error).toMatch(/^TOOL_FAILED: .*name: .*try once more/);
    expect(await run(greet, { args: { name: 'Ana' }, faults })).toHaveProperty('output');
    const second = await run(greet, { args: 'garbage', faults });
    expect(second.error).toContain('Do not call it again');
    expect((await run(greet, { args: { name: 'Ana' }, faults })).error).toMatch(/^TOOL_UNAVAILABLE/);
  });

  it('are checked against a JSON Schema as well', async () => {
    const input = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    expect((await run({ ...greet, inputSchema: input }, { args: {} })).error).toContain('name');
    expect(await run({ ...greet, inputSchema: input }, { args: { name: 'Ana', more: 1 } })).toHaveProperty('output');
  });

  it("a stranger's regular expression is never run", async () => {
    const input = {
      type: 'object',
      properties: { name: { type: 'string', pattern: '^(a+)+$' }, pattern: { type: 'string' } },
    };
    const args = { name: `${'a'.repeat(60)}!`, pattern: 'kept' };
    expect(await run({ ...greet, inputSchema: input, execute: (given: unknown) => given }, { args })).toEqual({
      output: args,
    });
    expect((await run({ ...greet, inputSchema: input }, { args: { pattern: 5 } })).error).toContain('pattern');
  });

  it('of a schema nobody understands still have to be an object', async () => {
    const input = { $ref: 'https://elsewhere.example/schema' };
    expect(await run({ ...greet, inputSchema: input }, { args: { name: 'Ana' } })).toHaveProperty('output');
    expect((await run({ ...greet, inputSchema: input }, { args: [1] })).error).toContain('TOOL_FAILED');
  });
});

describe('a tool that', () => {
  it('hangs is aborted by its signal, and the turn continues', async () => {
    let reason: unknown;
    const outcome = await run({
      ...greet,
      inputSchema: z.object({}),
      timeoutMs: 50,
      execute: (_args: unknown, { abortSignal }: RuntimeContext) =>
        new Promise(() =>
          abortSignal.addEventListener('abort', () => {
            reason = abortSignal.reason;
          }),
        ),
    });
    expect(outcome.error).toBe('TOOL_TIMEOUT: greet did not answer within 0.05 s.');
    expect(reason).toBeInstanceOf(Error);
  });

  it('throws shows the model a reason only where it was meant for it', async () => {
    const failing = (error: Error): Tool => ({
      ...greet,
      inputSchema: z.object({}),
      execute: () => {
        throw error;
      },
    });
    const meant = await run(failing(new ToolError('TOOL_FAILED', 'the kettle is empty')));
    expect(meant.error).toBe('TOOL_FAILED: the kettle is empty');
    expect((await run(failing(new Error('password=hunter2')))).error).toBe('TOOL_FAILED: greet failed.');
  });

  it('returns too much is refused', async () => {
    const outcome = await run({ ...greet, inputSchema: z.object({}), execute: () => 'é'.repeat(140_000) });
    expect(outcome.error).toMatch(/^TOOL_RESULT_TOO_LARGE/);
  });

  it('runs when the turn is aborted ends with it', async () => {
    const controller = new AbortController();
    const reason = new Error('stopped');
    const work = run(
      { ...greet, inputSchema: z.object({}), execute: () => new Promise(() => {}) },
      { signal: controller.signal },
    );
    controller.abort(reason);
    await expect(work).rejects.toBe(reason);
  });
});

it('middlewares wrap the tool, the first outermost', async () => {
  const order: string[] = [];
  const layer = (name: string): Middleware => ({
    async wrapToolCall(call, next) {
      order.push(name);
      return { [name]: await next({ ...call, args: { name: `${call.args.name}+${name}` } }) };
    },
  });
  const outcome = await run(greet, { args: { name: 'Ana' }, middlewares: [layer('a'), layer('b')] });
  expect(outcome).toEqual({ output: { a: { b: { greeting: 'Hello Ana+a+b' } } } });
  expect(order).toEqual(['a', 'b']);
});
