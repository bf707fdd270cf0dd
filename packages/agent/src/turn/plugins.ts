import { createHash } from 'node:crypto';
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { AppError } from '@palaver/contract';
import type { CallerTool } from '../define/agent-run.ts';
import { capabilityToolNames, createCapabilityTools, findLoadedCapabilities } from '../define/capabilities.ts';
import type { Middleware, ModelCall, ModelResult, ToolCallRequest } from '../define/middleware.ts';
import { type RuntimeContext, ToolError } from '../define/runtime-context.ts';
import type { LoadedPlugin } from '../define/select-plugins.ts';
import type { SubAgent, Tool, Tools } from '../define/tool.ts';
import { toInputSchema } from '../define/tool-arguments.ts';

/** The tools of one turn. Loading a capability adds to them while the turn runs. */
export interface BoundTools {
  /** As they are now: what the model is shown in a step, and all that it can call in it. */
  forStep(): StepTools;
}

/** The tools of one step, which stay the same until its calls have ended. */
export interface StepTools {
  get(name: string): Tool | undefined;
  /** Stands for who brought the tool and what it says it does: another tool of the name has another. */
  fingerprintOf(name: string): string | undefined;
  /** Whether on-demand capabilities can be loaded. */
  canLoad: boolean;
  /** Whether the caller runs it. */
  isCallers(name: string): boolean;
  /** What the model receives. */
  declarations(): LanguageModelV4FunctionTool[];
}

export interface BindParts {
  plugins: LoadedPlugin[];
  rt: RuntimeContext;
  callerTools: CallerTool[];
  toTool(agent: SubAgent): Tool;
}

export async function bindTools({ plugins, rt, callerTools, toTool }: BindParts): Promise<BoundTools> {
  const tools = new Map<string, BoundTool>();
  const add = (more: Tools, from: string) => {
    // What a page declares must not replace what the agent's author wrote: the first of a name stays.
    for (const [name, tool] of Object.entries(more)) if (!tools.has(name)) tools.set(name, { tool, from });
  };
  const load = (plugin: LoadedPlugin) => {
    add(plugin.tools, plugin.name);
    add(Object.fromEntries(plugin.subAgents.map((agent) => [agent.name, toTool(agent)])), plugin.name);
    if (!rt.loadedPlugins.includes(plugin.name)) rt.loadedPlugins.push(plugin.name);
  };
  const addRequestTools = async ({ plugin, name }: LoadedPlugin) => {
    try {
      const more = (await plugin.getRequestTools?.(rt)) ?? {};
      for (const tool of Object.values(more)) toInputSchema(tool);
      add(more, name);
    } catch (error) {
      rt.logger.error({ err: error, plugin: name }, 'a plugin failed and was left out of this request');
    }
  };
  const earlier = new Set([...rt.loadedPlugins, ...findLoadedCapabilities(rt.history)]);
  const bound = plugins.filter(({ manifest, name }) => manifest.visibility !== 'on-demand' || earlier.has(name));
  for (const plugin of bound) load(plugin);
  const loadNow = async (plugin: LoadedPlugin) => {
    load(plugin);
    await addRequestTools(plugin);
  };
  add(createCapabilityTools(plugins, loadNow), '');
  for (const plugin of bound) await addRequestTools(plugin);
  const brought = Object.fromEntries(callerTools.map((tool) => [tool.name, toCallerTool(tool)]));
  add(brought, '');
  return toBoundTools(tools, (tool) => Object.values(brought).includes(tool));
}

/** Nothing runs here, so its call may be sent twice. */
function toCallerTool({ description, schema }: CallerTool): Tool {
  return { description, input: schema, repeatable: true, execute: () => undefined };
}

interface BoundTool {
  tool: Tool;
  /** The plugin that brought it. */
  from: string;
}

export function toBoundTools(
  all: Map<string, BoundTool>,
  isOfCaller: (tool: Tool) => boolean = () => false,
): BoundTools {
  return {
    forStep() {
      const tools = new Map(all);
      return {
        get: (name) => tools.get(name)?.tool,
        fingerprintOf(name) {
          const bound = tools.get(name);
          return bound && toFingerprint(name, bound);
        },
        canLoad: capabilityToolNames.every((name) => tools.has(name)),
        isCallers(name) {
          const bound = tools.get(name);
          return bound !== undefined && isOfCaller(bound.tool);
        },
        declarations: () => [...tools].map(([name, { tool }]) => toDeclaration(name, tool)),
      };
    },
  };
}

function toDeclaration(name: string, tool: Tool): LanguageModelV4FunctionTool {
  return { type: 'function', name, description: tool.description, inputSchema: toInputSchema(tool) };
}

function toFingerprint(name: string, { tool, from }: BoundTool): string {
  const said = JSON.stringify([from, toDeclaration(name, tool)]);
  return createHash('sha256').update(said).digest('base64url');
}

type Next<Call, Result> = (call: Call) => Promise<Result>;

export type TurnMiddlewares = ReturnType<typeof createTurnMiddlewares>;

/** The middlewares of all plugins as one. A hook that fails is logged and skipped, unless it throws a `ToolError` or an `AppError`. */
export function createTurnMiddlewares(plugins: LoadedPlugin[], rt: RuntimeContext) {
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
    wrapTurn: (base: () => Promise<void>): Promise<void> =>
      wrap<undefined, void>('wrapTurn', { base, context: rt }, (middleware, _none, next) =>
        middleware.wrapTurn?.(() => next(undefined), rt),
      )(undefined),
    async beforeModel(first: ModelCall): Promise<ModelCall> {
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
    wrapModelCall: (call: ModelCall, base: Next<ModelCall, ModelResult>): Promise<ModelResult> =>
      wrap('wrapModelCall', { base, context: rt }, (middleware, request, next) =>
        middleware.wrapModelCall?.(request, next, rt),
      )(call),
    async afterModel(result: ModelResult): Promise<void> {
      for (const { name, middleware } of all) {
        try {
          await middleware.afterModel?.(result, rt);
        } catch (error) {
          throwOrLog(error, name, 'afterModel');
        }
      }
    },
    wrapToolCall: (
      call: ToolCallRequest,
      base: Next<ToolCallRequest, unknown>,
      toolRt: RuntimeContext,
    ): Promise<unknown> =>
      wrap('wrapToolCall', { base, context: toolRt }, (middleware, request, next) =>
        middleware.wrapToolCall?.(request, next, toolRt),
      )(call),
  };
}
