import { createHmac } from 'node:crypto';
import { defineOraclePlugin, identityOf, type OraclePlugin, type PluginContext, tablesOf } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { envUrl, type Server } from '@palaver/service-kit';
import { describeRoutes, fetchBounded } from '@palaver/service-kit/internal';
import { personalTables } from '@palaver/store';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { toFirstSchema, toManifest } from '../plugin-parts.ts';

const configSchema = z.object({
  LIVEKIT_URL: envUrl('ws:', 'wss:', 'http:', 'https:').meta({
    description: 'The LiveKit server of voice calls; with its key and secret it opens POST /calls.',
    example: 'wss://calls.example',
  }),
  LIVEKIT_API_KEY: z.string().min(1).meta({ description: 'Key of the LiveKit server.', example: 'APIabc123' }),
  LIVEKIT_API_SECRET: z.string().min(1).meta({
    description: 'Secret of the LiveKit key.',
    example: 'a-long-random-text',
    secret: true,
  }),
});

type CallsConfig = z.infer<typeof configSchema>;

type AgentCall = { id: string; user_did: string; session_id: string; room_name: string; created_at: number };
type CallDatabase = { agent_call: AgentCall };

const migrations = toFirstSchema([
  sql`create table agent_call (
    id text primary key, user_did text not null,
    session_id text not null references agent_session (id) on delete cascade, room_name text not null,
    created_at bigint not null)`,
]);

const callSchema = z
  .object({
    callId: z.string(),
    url: z.string().meta({ description: 'Where to connect.' }),
    token: z.string().meta({ description: 'LiveKit access token for this room alone, valid for an hour.' }),
    encryptionKey: z.string().meta({
      description: 'The key of this call’s media: a text that is given to LiveKit unchanged, not decoded.',
    }),
    roomName: z.string(),
  })
  .meta({ id: 'Call' });

const voiceTicketSchema = callSchema.extend({ userDid: z.string(), sessionId: z.string() }).meta({ id: 'VoiceTicket' });

const params = z.object({ callId: z.string() });

const joinSeconds = 3_600;
const adminSeconds = 60;
const timeoutMs = 5_000;

export function createCallsPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'calls',
    version: '1.0.0',
    manifest: toManifest('Calls', 'Opens encrypted voice calls.', { category: 'integration', stability: 'beta' }),
    configSchema,
    autoDetect: (env) => Boolean(env.LIVEKIT_URL && env.LIVEKIT_API_KEY && env.LIVEKIT_API_SECRET),
    autoDetectHint: 'set LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET',
    tables: tablesOf<CallDatabase>(),
    migrations,
    personalData: personalTables([{ table: 'agent_call', where: ({ did }) => sql`user_did = ${did}` }]),
    getRoutes: (ctx) => (server) => addCallRoutes(server, ctx),
  });
}

function addCallRoutes(server: Server, ctx: PluginContext<CallsConfig, CallDatabase>): void {
  const { sessions, oracle, deriveKey, logger } = ctx;
  const { db } = ctx.store;
  const { LIVEKIT_URL: url, LIVEKIT_API_KEY: apiKey, LIVEKIT_API_SECRET: apiSecret } = ctx.config;
  const key = { apiKey, apiSecret };
  const route = describeRoutes('Calls');

  function createTicket(call: AgentCall, who: Pick<LiveKitClaims, 'sub' | 'name'>) {
    const { id: callId, session_id: sessionId, room_name: roomName } = call;
    const metadata = JSON.stringify({ sessionId, callId });
    const video = { room: roomName, roomJoin: true };
    const token = createLiveKitToken(key, { ...who, metadata, video }, joinSeconds);
    // Never stored, and not known to LiveKit: it is derived each time from the agent's own secret.
    const encryptionKey = deriveKey(callId).toString('base64');
    return { callId, url, token, encryptionKey, roomName };
  }

  const start = route('Start a call about a session', {
    body: z.object({ sessionId: z.string().min(1) }),
    response: { 201: callSchema },
  });
  server.post('/calls', { config: { refuses: [404] }, schema: start }, async (request, reply) => {
    const { did } = identityOf(request);
    const { sessionId } = request.body;
    if (!(await sessions.find(did, sessionId))) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
    const id = uuidv7();
    const names = { user_did: did, session_id: sessionId, room_name: `call-${id}` };
    const call: AgentCall = { id, ...names, created_at: Date.now() };
    await db.insertInto('agent_call').values(call).execute();
    return reply.status(201).send(createTicket(call, { sub: did }));
  });

  const response = { 200: voiceTicketSchema };
  const join = route("A ticket for the agent's own voice in a call (operators)", { params, response });
  const onRequest = server.operatorGuardFor('operator'); // it gives out a ticket
  server.get('/calls/:callId', { onRequest, schema: join }, async ({ params: { callId } }) => {
    const call = await db.selectFrom('agent_call').selectAll().where('id', '=', callId).executeTakeFirst();
    if (!call) throw new AppError('NOT_FOUND', 'There is no such call.');
    const ticket = createTicket(call, { sub: oracle.did, name: oracle.name });
    return { userDid: call.user_did, sessionId: call.session_id, ...ticket };
  });

  const end = route('End a call', { params, response: { 200: z.object({ ok: z.literal(true) }) } });
  server.delete('/calls/:callId', { schema: end }, async (request) => {
    const call = await db
      .deleteFrom('agent_call')
      .where('id', '=', request.params.callId)
      .where('user_did', '=', identityOf(request).did)
      .returning('room_name')
      .executeTakeFirst();
    if (!call) throw new AppError('NOT_FOUND', 'There is no such call.');
    await closeRoom(url, key, call.room_name).catch((error) =>
      // An empty room is closed by LiveKit itself; the caller has hung up either way.
      logger.warn({ err: error }, 'a room could not be closed'),
    );
    return { ok: true as const };
  });
}

/** Removes all participants. A room that nobody has entered does not exist, so an error is ignored. */
async function closeRoom(url: string, key: LiveKitKey, room: string): Promise<void> {
  const token = createLiveKitToken(key, { video: { roomCreate: true } }, adminSeconds);
  const response = await fetchBounded(`${url.replace(/^ws/, 'http')}/twirp/livekit.RoomService/DeleteRoom`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ room }),
    timeoutMs,
  });
  if (!response.ok && response.status !== 404) throw new Error(`LiveKit answered ${response.status}`);
}

type LiveKitKey = { apiKey: string; apiSecret: string };

interface LiveKitClaims {
  sub?: string;
  name?: string;
  metadata?: string;
  video: { room?: string; roomJoin?: boolean; roomCreate?: boolean };
}

function createLiveKitToken({ apiKey, apiSecret }: LiveKitKey, claims: LiveKitClaims, lifetimeSeconds: number): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: apiKey, nbf: now - 30, exp: now + lifetimeSeconds, ...claims };
  const unsigned = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`;
  return `${unsigned}.${createHmac('sha256', apiSecret).update(unsigned).digest('base64url')}`;
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
