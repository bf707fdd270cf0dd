import { toError } from './oracle-error.ts';
import { type JsonSchema, parseWith, type Schema, type SchemaOutput, toJsonSchema } from './schema.ts';
import type { SocketEventPayload } from './wire.ts';

// biome-ignore lint/suspicious/noExplicitAny: of tools whose schema is not known, authors name the type themselves.
type ArgumentsOf<S> = Schema extends S ? any : SchemaOutput<S>;

/** A tool that runs on the page; `fn` gets arguments that `schema` has parsed. */
export interface BrowserTool<S extends Schema = Schema> {
  toolName: string;
  description: string;
  schema: S;
  fn: (args: ArgumentsOf<S>) => unknown;
}

/** Tools by name. The arguments of each `fn` are inferred from its schema. */
export type BrowserTools<Schemas extends Record<string, Schema> = Record<string, Schema>> = {
  [Name in keyof Schemas]: BrowserTool<Schemas[Name]>;
};

/** An AG-UI action without its rendering, which is part of the React layer. */
export interface ClientAction {
  name: string;
  description: string;
  parameters: Schema;
  // biome-ignore lint/suspicious/noExplicitAny: checked against `parameters`.
  handler: (args: any) => unknown;
  hasRender: boolean;
}

/** What the page offers at this moment; asked again for every message and every call. */
export interface ClientTools {
  browserTools?: BrowserTools | undefined;
  actions?: readonly ClientAction[] | undefined;
}

interface Declaration {
  name: string;
  description: string;
  schema: JsonSchema;
}

export function declareClientTools({ browserTools = {}, actions = [] }: ClientTools): {
  tools?: Declaration[];
  agActions?: (Declaration & { hasRender: boolean })[];
} {
  const tools = Object.values(browserTools).map(({ toolName: name, description, schema }) => {
    return { name, description, schema: toJsonSchema(schema) };
  });
  const agActions = actions.map(({ name, description, parameters, hasRender }) => {
    return { name, description, schema: toJsonSchema(parameters), hasRender };
  });
  return { ...(tools.length > 0 && { tools }), ...(agActions.length > 0 && { agActions }) };
}

/** A failed call has a result too, as the wire wants it. */
type ClientCallOutcome = { result: unknown; error?: undefined } | { result: null; error: string };

type ClientCall = Pick<SocketEventPayload['browser_tool_call'], 'toolName' | 'args'>;

const maxResultBytes = 256 * 1024;

export function runBrowserTool({ browserTools = {} }: ClientTools, call: ClientCall): Promise<ClientCallOutcome> {
  const tool = Object.values(browserTools).find(({ toolName }) => toolName === call.toolName);
  return run(tool && { schema: tool.schema, work: tool.fn }, call);
}

export function runClientAction({ actions = [] }: ClientTools, call: ClientCall): Promise<ClientCallOutcome> {
  const action = actions.find(({ name }) => name === call.toolName);
  return run(action && { schema: action.parameters, work: action.handler }, call);
}

/** Every failure becomes an outcome: the agent waits for one. */
async function run(
  found: { schema: Schema; work: (args: unknown) => unknown } | undefined,
  { toolName, args }: ClientCall,
): Promise<ClientCallOutcome> {
  const fail = (error: string) => ({ result: null, error });
  if (!found) return fail(`${toolName} is not available on this page.`);
  try {
    const result = (await found.work(await parseWith(found.schema, args))) ?? null;
    const text = JSON.stringify(result) ?? 'null';
    if (new TextEncoder().encode(text).length > maxResultBytes) return fail('The result is larger than 256 KiB.');
    return { result };
  } catch (error) {
    return fail(toError(error).message || `${toolName} failed.`);
  }
}
