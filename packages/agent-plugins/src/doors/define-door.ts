import {
  type AgentRun,
  type ApprovalAnswer,
  type Awaitable,
  agentVariables,
  type CallerTool,
  defineOraclePlugin,
  type FileOwner,
  type OpenMessage,
  type OraclePlugin,
  type PluginContext,
  type PublicRoute,
  type RunEvent,
} from '@palaver/agent';
import {
  type AppError,
  type Approval,
  type Attachment,
  agentLimits,
  type SendMessage,
  sendMessageSchema,
} from '@palaver/contract';
import { answerApprovalSchema, invalid, uploadQuerySchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { sendError } from '@palaver/service-kit/internal';
import type { z } from 'zod';
import { toManifest } from '../plugin-parts.ts';

interface DoorParts extends Pick<OraclePlugin, 'getRequestTools'> {
  name: z.infer<typeof agentVariables.DOORS>[number];
  title: string;
  toErrorBody?(error: AppError): object;
  errorBody?: z.ZodType;
  publicRoutes?: PublicRoute[];
  addRoutes(server: Server, ctx: PluginContext): Awaitable<void>;
}

/** A door of a standard protocol, as a plugin that `DOORS` turns on. */
export function defineDoor(parts: DoorParts): OraclePlugin {
  const { name, title, toErrorBody, errorBody, publicRoutes = [], addRoutes, ...more } = parts;
  return defineOraclePlugin({
    ...more,
    name: `${name}-door`,
    version: '1.0.0',
    manifest: toManifest(title, `Clients of ${title} reach the agent.`),
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

/** Of routes that send messages: their errors are those of credits, the session, a queue, files and the model too. */
export const doorConfig = { bareBearer: true, refuses: [402, 404, 409, 422, 502, 504] };

/** What a door asks for, as the body of a native message; an empty text is for messages that bring results alone. */
export function toBody(text: string, { model, attachments = [] }: Pick<SendMessage, 'model' | 'attachments'> = {}) {
  // A question is never empty, so that later turns have it.
  const message = text === '' ? attachments.map(({ filename }) => filename).join(', ') : text;
  if (message !== '') {
    const { success, error } = sendMessageSchema.shape.message.safeParse(message);
    if (!success) throw invalid('message', error.issues[0]?.message ?? 'is not valid');
  }
  return { message, stream: true, returnAllMessages: false, model, ...(attachments.length > 0 && { attachments }) };
}

/** A file as the protocols send it: in base64, as a data URL, or by the id that `POST /files` gave it. */
export interface InlineFile {
  data?: string | undefined;
  fileId?: string | undefined;
  filename?: string | undefined;
  mediaType?: string | undefined;
}

const dataUrlPattern = /^data:([^;,]*)[^,]*;base64,/i;
const base64Pattern = /^[\w+/-]+={0,2}$/;

type InlineFiles = { files: InlineFile[]; path: string };

export async function keepFiles(ctx: PluginContext, owner: FileOwner, { files, path }: InlineFiles) {
  if (files.length > agentLimits.attachments) throw invalid(path, `must have at most ${agentLimits.attachments} files`);
  const attachments: Attachment[] = [];
  for (const { fileId, data = '', ...file } of files) {
    const [prefix = '', mediaType = file.mediaType ?? ''] = dataUrlPattern.exec(data) ?? [];
    const named = filenameSchema.safeParse(file.filename);
    const filename = named.data ?? `file-${attachments.length + 1}`;
    const base64 = data.slice(prefix.length);
    if (fileId !== undefined) attachments.push({ fileId, filename, mimetype: '' });
    else if (!base64Pattern.test(base64))
      throw invalid(
        path,
        'must have its files in base64, as data URLs, or by their ids: other addresses are not fetched',
      );
    else attachments.push(await ctx.keepFile({ filename, mediaType, bytes: Buffer.from(base64, 'base64') }, owner));
  }
  return attachments;
}

const filenameSchema = uploadQuerySchema.shape.filename;

const emptySchema = { type: 'object', properties: {} };

export function toCallerTool(tool: {
  name: string;
  description?: string | null | undefined;
  parameters?: Record<string, unknown> | null | undefined;
}): CallerTool {
  return { name: tool.name, description: tool.description ?? '', schema: tool.parameters ?? emptySchema };
}

/** A run in the conversation that the client names, or in a new session, which is removed where the run is refused. */
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

export async function findLiveRun({ sessions, liveRun }: PluginContext, userDid: string, name: string) {
  const session = await sessions.findNamed(userDid, name);
  return session && liveRun({ userDid, sessionId: session.sessionId });
}

/** If the abort fails, the run finishes as usual. */
export function abortOnLeave(run: AgentRun, signal: AbortSignal): void {
  const abort = () => void run.abort().catch(() => undefined);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
}

export type DoorAnswer = Pick<ApprovalAnswer, 'approved' | 'reason'>;

/** What a run waits for at this event: the stream ends here, and the answers come with another request. */
export async function findPause(run: AgentRun, { name, data }: RunEvent): Promise<Approval[] | undefined> {
  if (name !== 'approval_request' || data.status !== 'pending') return undefined;
  const pending = await run.approvals();
  // In a stream that is read again the approval may have been answered since.
  return pending.some(({ approvalId }) => approvalId === data.approvalId) ? toRequests(pending) : undefined;
}

/** One request for each call, though it may wait for approval, a delegation and a signature: these protocols ask once. */
export function toRequests(pending: Approval[]): Approval[] {
  return [...Map.groupBy(pending, ({ toolCallId }) => toolCallId).values()].flatMap((ofCall) => {
    const [first] = ofCall;
    const { capability } = ofCall.find((approval) => approval.capability) ?? {};
    const { invocation } = ofCall.find((approval) => approval.invocation) ?? {};
    return first ? [{ ...first, ...(capability && { capability }), ...(invocation && { invocation }) }] : [];
  });
}

/** Answers what a run waits for, all of it: a run with an open approval does not continue. */
export async function answerApprovals(
  { answerApproval }: Pick<PluginContext, 'answerApproval'>,
  { userDid, run }: { userDid: string; run: AgentRun | undefined },
  toAnswer: (approval: Approval) => DoorAnswer | undefined,
): Promise<{ run: AgentRun; answered: Approval[] }> {
  const pending = (await run?.approvals()) ?? [];
  if (!run || pending.length === 0) throw invalid('messages', 'nothing in this conversation waits for an approval');
  const answers = toRequests(pending).flatMap((request) => {
    const answer = answerApprovalSchema.safeParse(toAnswer(request));
    if (!answer.success)
      throw invalid('messages', `approval ${request.approvalId} is not answered: all that are open must be`);
    const ofCall = pending.filter(({ toolCallId }) => toolCallId === request.toolCallId);
    // Those first that are refused without their delegation or signature: then nothing else is approved either.
    return ofCall.toReversed().map(({ approvalId }) => ({ approvalId, ...answer.data }));
  });
  const answered: Approval[] = [];
  for (const answer of answers) answered.push(await answerApproval({ userDid, runId: run.runId, ...answer }));
  const ids = new Set(answers.map(({ approvalId }) => approvalId));
  return { run: { ...run, events: (options) => skipToAnswers(run.events(options), ids) }, answered };
}

async function* skipToAnswers(events: AsyncIterable<RunEvent>, ids: Set<string>): AsyncGenerator<RunEvent> {
  let isAnswered = false;
  for await (const event of events) {
    if (event.name === 'approval_request' && event.data.status !== 'pending')
      isAnswered ||= ids.has(event.data.approvalId);
    if (isAnswered || event.name === 'done') yield event;
  }
}

const cannotAsk = 'The client of this conversation cannot ask its user. Another client of this agent can.';

/** For protocols that have no way to ask: a call that needs approval is refused at once, and the model says so. */
export function refuseApprovals({ answerApproval }: PluginContext, userDid: string, run: AgentRun): AgentRun {
  async function* events(options?: Parameters<AgentRun['events']>[0]): AsyncGenerator<RunEvent> {
    for await (const event of run.events(options)) {
      // Somebody may have answered it in another client.
      for (const { approvalId } of (await findPause(run, event)) ? await run.approvals() : [])
        await answerApproval({ userDid, runId: run.runId, approvalId, approved: false, reason: cannotAsk }).catch(
          () => undefined,
        );
      yield event;
    }
  }
  return { ...run, events };
}
