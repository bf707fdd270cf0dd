import { AppError } from '@palaver/contract';
import type { LoadedPlugin } from '../plugins/loaded-plugin.ts';
import type { Middleware, ModelCall, ModelResult, ToolCallRequest } from '../plugins/middleware.ts';
import { type RuntimeContext, ToolError } from '../plugins/runtime-context.ts';

/** The middlewares of all plugins as one. A hook that fails is logged and skipped, unless it throws a `ToolError` or an `AppError`. */
export interface TurnMiddlewares {
  wrapTurn(base: () => Promise<void>): Promise<void>;
  beforeModel(call: ModelCall): Promise<ModelCall>;
  wrapModelCall(call: ModelCall, base: (call: ModelCall) => Promise<ModelResult>): Promise<ModelResult>;
  afterModel(result: ModelResult): Promise<void>;
  wrapToolCall(
    call: ToolCallRequest,
    base: (call: ToolCallRequest) => Promise<unknown>,
    rt: RuntimeContext,
  ): Promise<unknown>;
}

type Next<Call, Result> = (call: Call) => Promise<Result>;

export function createTurnMiddlewares(plugins: LoadedPlugin[], rt: RuntimeContext): TurnMiddlewares {
  const all = plugins.flatMap(({ name, middlewares }) => middlewares.map((middleware) => ({ name, middleware })));

  /** Throws an abort and errors that plugins throw on purpose; logs any other. */
  function throwOrLog(error: unknown, plugin: string, hook: keyof Middleware, { abortSignal } = rt): void {
    if (abortSignal.aborted) throw abortSignal.reason;
    if (error instanceof (hook === 'wrapToolCall' ? ToolError : AppError)) throw error;
    rt.logger.error({ err: error, plugin, hook }, 'a plugin failed and was left out of this request');
  }

  function wrap<Call, Result>(
    hook: 'wrapTurn' | 'wrapModelCall' | 'wrapToolCall',
    { base, context }: { base: Next<Call, Result>; context: RuntimeContext },
    invoke: (middleware: Middleware, call: Call, next: Next<Call, Result>) => Promise<Result> | undefined,
  ): Next<Call, Result> {
    return all.reduceRight<Next<Call, Result>>((next, { name, middleware }) => {
      if (!middleware[hook]) return next;
      return async (call) => {
        // The outcome of `next` is kept if the wrapper fails after it, so that the call is not made twice.
        let outcome: Promise<Result> | undefined;
        const remember = (request: Call) => {
          outcome = next(request);
          // The wrapper may not await it; an unhandled rejection would end the process.
          outcome.catch(() => undefined);
          return outcome;
        };
        try {
          return (await invoke(middleware, call, remember)) as Result;
        } catch (error) {
          const failed = await outcome?.then(
            () => undefined,
            (cause: unknown) => ({ cause }),
          );
          // The model's or the tool's own failure, passed through.
          if (failed && failed.cause === error) throw error;
          throwOrLog(error, name, hook, context);
          return outcome ?? next(call);
        }
      };
    }, base);
  }

  return {
    wrapTurn: (base) =>
      wrap<undefined, void>('wrapTurn', { base, context: rt }, (middleware, _none, next) =>
        middleware.wrapTurn?.(() => next(undefined), rt),
      )(undefined),
    async beforeModel(first) {
      let call = first;
      for (const { name, middleware } of all) {
        try {
          call = (await middleware.beforeModel?.(call, rt)) ?? call;
        } catch (error) {
          throwOrLog(error, name, 'beforeModel');
        }
      }
      return call;
    },
    wrapModelCall: (call, base) =>
      wrap('wrapModelCall', { base, context: rt }, (middleware, request, next) =>
        middleware.wrapModelCall?.(request, next, rt),
      )(call),
    async afterModel(result) {
      for (const { name, middleware } of all) {
        try {
          await middleware.afterModel?.(result, rt);
        } catch (error) {
          throwOrLog(error, name, 'afterModel');
        }
      }
    },
    wrapToolCall: (call, base, toolRt) =>
      wrap('wrapToolCall', { base, context: toolRt }, (middleware, request, next) =>
        middleware.wrapToolCall?.(request, next, toolRt),
      )(call),
  };
}
