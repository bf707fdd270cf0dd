import type { Approval } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { toReply } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { CallerResult, CallerTool } from '../../define/agent-run.ts';
import type { OraclePlugin } from '../../define/plugin.ts';
import type { PluginContext } from '../../define/plugin-context.ts';
import { openCallsOf } from '../../runs/input.ts';
import { defineDoor, invalid, openInNamedSession, sendRefusals, toBody } from '../define-door.ts';
import { answerApprovals, type DoorAnswer } from '../door-approvals.ts';
import { sendEventStream } from '../event-stream.ts';
import { toUiChunks, uiStreamHeaders } from './ui-chunks.ts';

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  toolCallId: z.string().optional(),
  state: z.string().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  approval: z
    .looseObject({ id: z.string(), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
});

const messageSchema = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(partSchema),
});

const toolSchema = z.looseObject({
  description: z.string().optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
  inputSchema: z.record(z.string(), z.unknown()).optional(),
});

const bodySchema = z.looseObject({
  id: z.string().min(1).max(255),
  messages: z.array(messageSchema).meta({ minItems: 1 }),
  /** By name, as `assistant-ui` sends them; others put them into the transport's `body`. */
  tools: z.record(z.string(), toolSchema).optional(),
  system: z.string().optional(),
  model: z.string().optional(),
});

const paramsSchema = z.object({ id: z.string().min(1).max(255) });

type UiMessage = z.infer<typeof messageSchema>;

/** `POST /api/chat` and `GET /api/chat/:id/stream`: the UI message stream of the AI SDK, which `useChat` reads. */
export function createAiSdkDoor(): OraclePlugin {
  return defineDoor({ name: 'ai-sdk', title: 'AI SDK', addRoutes });
}

function addRoutes(server: Server, ctx: PluginContext): void {
  const config = { bareBearer: true, refuses: sendRefusals };
  const stream = toReply('A UI message stream', 'text/event-stream');
  const tags = ['AI SDK'];

  server.post(
    '/api/chat',
    { config, schema: { tags, summary: 'Send a message of useChat', body: bodySchema, response: { 200: stream } } },
    async (request, reply) => {
      const { id, messages, tools = {}, system, model } = request.body;
      const last = messages.at(-1);
      if (!last) throw invalid('messages', 'must not be empty');
      const sender = ctx.senderOf(request, reply);
      const { userDid } = sender;
      if (isAnsweringApprovals(last)) {
        const session = await ctx.sessions.findNamed(userDid, id);
        const run = session && (await ctx.liveRun({ userDid, sessionId: session.sessionId }));
        const resumed = await answerApprovals(ctx, { userDid, run }, findAnswerIn(last));
        const chunks = toUiChunks(resumed.run, { messageId: last.id, answered: resumed.answered });
        return sendEventStream(reply, chunks, uiStreamHeaders);
      }
      const isResult = last.role === 'assistant';
      const run = await openInNamedSession(ctx, { userDid, name: id }, async (sessionId) =>
        ctx.open({
          ...sender,
          sessionId,
          body: toBody(isResult ? '' : toText(last), model),
          callerTools: Object.entries(tools).map(toCallerTool),
          context: system ? [system] : [],
          ...(isResult && { results: await findResults(ctx, sessionId, last) }),
        }),
      );
      // Results belong to the message that asked for them: what follows continues it.
      const messageId = isResult ? last.id : run.messageId;
      return sendEventStream(
        reply,
        toUiChunks(run, { messageId, callers: new Set(Object.keys(tools)) }),
        uiStreamHeaders,
      );
    },
  );

  server.get(
    '/api/chat/:id/stream',
    {
      config,
      schema: {
        tags,
        summary: 'Continue to read the answer of a chat',
        params: paramsSchema,
        response: { 200: stream, 204: z.undefined().describe('There is no answer to continue') },
      },
    },
    async (request, reply) => {
      const { userDid } = ctx.senderOf(request, reply);
      const session = await ctx.sessions.findNamed(userDid, request.params.id);
      const run = session && (await ctx.liveRun({ userDid, sessionId: session.sessionId }));
      if (!run) return reply.status(204).send();
      return sendEventStream(reply, toUiChunks(run, { messageId: run.messageId }), uiStreamHeaders);
    },
  );
}

function isAnsweringApprovals({ role, parts }: UiMessage): boolean {
  return role === 'assistant' && parts.some(({ state }) => state === 'approval-responded');
}

function findAnswerIn({ parts }: UiMessage) {
  return ({ approvalId }: Approval): DoorAnswer | undefined => {
    const { approved, reason } = parts.find(({ approval }) => approval?.id === approvalId)?.approval ?? {};
    return approved === undefined ? undefined : { approved, reason: reason || undefined };
  };
}

function toText({ parts }: UiMessage): string {
  const others = parts.find(({ type }) => type === 'file');
  if (others) throw invalid('messages', 'files are not supported; attach them by Matrix');
  const text = parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
  if (text === '') throw invalid('messages', 'the last message must have a text');
  return text;
}

/** Those of the tool parts that the last answer waits for. */
async function findResults(ctx: PluginContext, sessionId: string, { parts }: UiMessage): Promise<CallerResult[]> {
  const open = new Set(openCallsOf(await ctx.messages.last(sessionId)).map(({ id }) => id));
  const results = parts.flatMap(({ toolCallId = '', state, output, errorText }): CallerResult[] => {
    if (!open.has(toolCallId)) return [];
    if (state === 'output-available') return [{ toolCallId, output }];
    return state === 'output-error' ? [{ toolCallId, error: errorText ?? 'The tool failed.' }] : [];
  });
  if (results.length === 0)
    throw invalid('messages', 'must end with a message of the user or a result that is waited for');
  return results;
}

function toCallerTool([name, { description = '', parameters, inputSchema }]: [
  string,
  z.infer<typeof toolSchema>,
]): CallerTool {
  return { name, description, schema: inputSchema ?? parameters ?? { type: 'object', properties: {} } };
}
