import {
  type AgentRun,
  type Awaitable,
  agentVariables,
  defineOraclePlugin,
  type OpenMessage,
  type OraclePlugin,
  type PluginContext,
  type PublicRoute,
} from '@palaver/agent';
import { AppError, type SendMessage, sendMessageSchema } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { sendError } from '@palaver/service-kit/internal';
import type { z } from 'zod';

export interface DoorParts {
  name: z.infer<typeof agentVariables.DOORS>[number];
  title: string;
  /** The protocol's own form of an error. */
  toErrorBody?(error: AppError): object;
  /** That form, for the documentation. */
  errorBody?: z.ZodType;
  publicRoutes?: PublicRoute[];
  addRoutes(server: Server, ctx: PluginContext): Awaitable<void>;
}

/** A standard door as a plugin that `DOORS` switches. */
export function defineDoor({
  name,
  title,
  toErrorBody,
  errorBody,
  publicRoutes = [],
  addRoutes,
}: DoorParts): OraclePlugin {
  return defineOraclePlugin({
    name: `${name}-door`,
    version: '1.0.0',
    manifest: {
      title,
      summary: `Clients of ${title} reach the agent.`,
      whenToUse: [],
      category: 'core',
      visibility: 'silent',
      stability: 'stable',
    },
    autoDetect: ({ DOORS }) => agentVariables.DOORS.safeParse(DOORS).data?.includes(name) ?? false,
    autoDetectHint: `DOORS does not name ${name}`,
    getAuthExcludedRoutes: () => publicRoutes,
    getRoutes: (ctx) => (server) => {
      if (toErrorBody) server.setErrorHandler((error, request, reply) => sendError(error, request, reply, toErrorBody));
      if (errorBody)
        server.addHook('onRoute', (route) => {
          route.config = { ...route.config, errorBody };
        });
      return addRoutes(server, ctx);
    },
  });
}

/** The statuses of errors that only messages have: credits, the session, a queue, files, the model. */
export const sendRefusals = [402, 404, 409, 422, 502, 504] as const;

/** What a door asks for, as the body of a native message; an empty text is for messages that bring results alone. */
export function toBody(message: string, model?: string): SendMessage {
  if (message !== '') {
    const { success, error } = sendMessageSchema.shape.message.safeParse(message);
    if (!success) throw invalid('message', error.issues[0]?.message ?? 'is not valid');
  }
  return { message, stream: true, returnAllMessages: false, model };
}

export function invalid(path: string, message: string): AppError {
  return new AppError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } });
}

/**
 * A run in the conversation that the client names, otherwise in a session of its own. A session that is made for it is not
 * kept where the run is not taken in.
 */
export async function openRun(
  { sessions, open }: PluginContext,
  { userDid, name }: { userDid: string; name?: string | undefined },
  toMessage: (sessionId: string) => Awaitable<Omit<OpenMessage, 'sessionId'>>,
): Promise<AgentRun> {
  const known = name ? await sessions.findNamed(userDid, name) : undefined;
  const create = () => (name ? sessions.findOrCreate(userDid, name) : sessions.create(userDid, {}));
  const { sessionId } = known ?? (await create());
  try {
    return await open({ ...(await toMessage(sessionId)), sessionId });
  } catch (error) {
    if (!name) await sessions.remove(userDid, sessionId);
    else if (!known) await sessions.removeUnused(userDid, sessionId);
    throw error;
  }
}

/** The run in flight of the conversation that a client names. */
export async function findLiveRun(
  { sessions, liveRun }: PluginContext,
  userDid: string,
  name: string,
): Promise<AgentRun | undefined> {
  const session = await sessions.findNamed(userDid, name);
  return session && liveRun({ userDid, sessionId: session.sessionId });
}

/** Aborts the run when its client disconnects. If the abort fails, the run finishes as usual. */
export function abortOnLeave(run: AgentRun, signal: AbortSignal): void {
  const abort = () => void run.abort().catch(() => undefined);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
}
