import { createHash } from 'node:crypto';
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { AppError, type Message } from '@palaver/contract';
import { z } from 'zod';
import type { CallerTool } from '../define/agent-run.ts';
import type { Middleware, ModelCall, ModelResult, ToolCallRequest } from '../define/middleware.ts';
import { type RuntimeContext, ToolError } from '../define/runtime-context.ts';
import type { LoadedPlugin } from '../define/select-plugins.ts';
import { capabilityTools } from '../define/start-plugins.ts';
import type { SubAgent, Tool, Tools } from '../define/tool.ts';
import { toDeclared } from '../define/tool-arguments.ts';

/** Loading a capability adds to them while the turn runs. */
export type BoundTools = ReturnType<typeof toBoundTools>;

/** The tools of one step, which stay the same until its calls have ended. */
export type StepTools = ReturnType<BoundTools['forStep']>;

interface BindParts {
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
      for (const tool of Object.values(more)) toDeclared(tool);
      add(more, name);
    } catch (error) {
      rt.logger.error({ err: error, plugin: name }, 'a plugin failed and was left out of this request');
    }
  };
  const earlier = new Set([...rt.loadedPlugins, ...findLoadedCapabilities(rt.history)]);
  const bound = plugins.filter(({ manifest, name }) => manifest.visibility !== 'on-demand' || earlier.has(name));
  for (const plugin of bound) load(plugin);
  const onLoad = (plugin: LoadedPlugin) => {
    load(plugin);
    return addRequestTools(plugin);
  };
  add(createCapabilityTools(plugins, onLoad), '');
  for (const plugin of bound) await addRequestTools(plugin);
  // Nothing runs here, so a call may be sent twice.
  const toCallerTool = ({ name, description, schema: inputSchema }: CallerTool): [string, Tool] => [
    name,
    { description, inputSchema, repeatable: true, execute: () => undefined },
  ];
  const brought = Object.fromEntries(callerTools.map(toCallerTool));
  add(brought, '');
  return toBoundTools(tools, (tool) => Object.values(brought).includes(tool));
}

/** Names of the on-demand plugins that were loaded earlier in this session: its own history says so. */
export function findLoadedCapabilities(history: Message[]): Set<string> {
  const calls = history
    // Those of a question are a caller's.
    .flatMap(({ type, toolCalls = [] }) => (type === 'ai' ? toolCalls : []))
    .filter(({ name, status }) => name === capabilityTools.load && status === 'done');
  return new Set(calls.map(({ args }) => String(args.name)));
}

/** The two tools by which the agent finds and loads what is not in its prompt; none where every plugin is. */
function createCapabilityTools(plugins: LoadedPlugin[], onLoad: (plugin: LoadedPlugin) => Promise<void>): Tools {
  const onDemand = plugins.filter(({ manifest }) => manifest.visibility === 'on-demand');
  if (onDemand.length === 0) return {};
  return {
    [capabilityTools.list]: {
      description: 'Lists capabilities that are not loaded yet. Look here before you say that you cannot do something.',
      inputSchema: z.object({ query: z.string().max(200).optional().describe('Words to look for') }),
      repeatable: true,
      execute: ({ query = '' }: { query?: string }) => {
        const words = query.toLowerCase().split(/\s+/).filter(Boolean);
        const entries = onDemand.map(({ name, manifest: { title, summary, whenToUse, tags = [] } }) => ({
          name,
          title,
          summary,
          whenToUse,
          tags,
        }));
        const matching = entries.filter((entry) =>
          words.some((word) => JSON.stringify(entry).toLowerCase().includes(word)),
        );
        return { capabilities: words.length > 0 && matching.length > 0 ? matching : entries };
      },
    },
    [capabilityTools.load]: {
      description: 'Loads a capability by its name; its tools can be used from then on in this session.',
      inputSchema: z.object({ name: z.string().max(100) }),
      repeatable: true,
      async execute({ name }: { name: string }) {
        const plugin = onDemand.find((candidate) => candidate.name === name);
        if (!plugin)
          throw new ToolError(
            'TOOL_UNAVAILABLE',
            `there is no capability ${name}; list_capabilities names those there are`,
          );
        await onLoad(plugin);
        return { loaded: name, tools: [...Object.keys(plugin.tools), ...plugin.subAgents.map((agent) => agent.name)] };
      },
    },
  };
}

type BoundTool = { tool: Tool; from: string };

export function toBoundTools(all: Map<string, BoundTool>, isOfCaller: (tool: Tool) => boolean = () => false) {
  return {
    /** As they are now: what the model is shown in a step, and all that it can call in it. */
    forStep() {
      const tools = new Map(all);
      return {
        get: (name: string): Tool | undefined => tools.get(name)?.tool,
        /** Stands for who brought the tool and what it says it does: another tool of the name has another. */
        fingerprintOf(name: string): string | undefined {
          const bound = tools.get(name);
          if (!bound) return undefined;
          const said = JSON.stringify([bound.from, toDeclaration(name, bound.tool)]);
          return createHash('sha256').update(said).digest('base64url');
        },
        canLoad: Object.values(capabilityTools).every((name) => tools.has(name)),
        isCallers(name: string): boolean {
          const bound = tools.get(name);
          return bound !== undefined && isOfCaller(bound.tool);
        },
        declarations: (isOnlyCallers = false) =>
          [...tools].flatMap(([name, { tool }]) =>
            isOnlyCallers && !isOfCaller(tool) ? [] : [toDeclaration(name, tool)],
          ),
      };
    },
  };
}

function toDeclaration(name: string, tool: Tool): LanguageModelV4FunctionTool {
  return { type: 'function', name, ...toDeclared(tool) };
}

type Next<Call, Result> = (call: Call) => Promise<Result>;

export type TurnMiddlewares = ReturnType<typeof createTurnMiddlewares>;

export function createTurnMiddlewares(plugins: LoadedPlugin[], rt: RuntimeContext) {
  const all = plugins.flatMap(({ name, middlewares }) => middlewares.map((middleware) => ({ name, middleware })));

  /** Throws an abort and errors that plugins throw on purpose; logs any other. */
  function throwOrLog(error: unknown, plugin: string, hook: keyof Middleware, { abortSignal } = rt): void {
    if (abortSignal.aborted) throw abortSignal.reason;
    if (error instanceof (hook === 'wrapToolCall' ? ToolError : AppError)) throw error;
    rt.logger.error({ err: error, plugin, hook }, 'a plugin failed and was left out of this request');
  }

  async function each(hook: keyof Middleware, invoke: (middleware: Middleware) => unknown): Promise<void> {
    for (const { name, middleware } of all) {
      try {
        await invoke(middleware);
      } catch (error) {
        throwOrLog(error, name, hook);
      }
    }
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
      await each('beforeModel', async (middleware) => {
        call = (await middleware.beforeModel?.(call, rt)) ?? call;
      });
      return call;
    },
    wrapModelCall: (call: ModelCall, base: Next<ModelCall, ModelResult>): Promise<ModelResult> =>
      wrap('wrapModelCall', { base, context: rt }, (middleware, request, next) =>
        middleware.wrapModelCall?.(request, next, rt),
      )(call),
    afterModel: (result: ModelResult) => each('afterModel', (middleware) => middleware.afterModel?.(result, rt)),
    wrapToolCall: (call: ToolCallRequest, base: Next<ToolCallRequest, unknown>, toolRt: RuntimeContext) =>
      wrap('wrapToolCall', { base, context: toolRt }, (middleware, request, next) =>
        middleware.wrapToolCall?.(request, next, toolRt),
      )(call),
  };
}
