import { createHmac } from 'node:crypto';
import { defineOraclePlugin, identityOf, type OraclePlugin, type PluginContext, tablesOf } from '@palaver/agent';
import { AppError, errorBodySchema } from '@palaver/contract';
import { envUrl, type Server } from '@palaver/service-kit';
import { fetchBounded } from '@palaver/service-kit/internal';
import { personalTables } from '@palaver/store';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { toFirstSchema, toSilentManifest } from '../plugin-parts.ts';

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

interface CallDatabase {
  agent_call: { id: string; user_did: string; session_id: string; room_name: string; created_at: number };
}

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

const callParams = z.object({ callId: z.string() });

const joinSeconds = 3_600;
const adminSeconds = 60;
const timeoutMs = 5_000;

export function createCallsPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'calls',
    version: '1.0.0',
    manifest: toSilentManifest('Calls', 'Opens encrypted voice calls.', { category: 'integration', stability: 'beta' }),
    configSchema,
    autoDetect: (env) => Boolean(env.LIVEKIT_URL && env.LIVEKIT_API_KEY && env.LIVEKIT_API_SECRET),
    autoDetectHint: 'set LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET',
    tables: tablesOf<CallDatabase>(),
    migrations,
    personalData: personalTables([{ table: 'agent_call', where: ({ did }) => sql`user_did = ${did}` }]),
    getRoutes: (ctx) => (server) => addCallRoutes(server, ctx),
  });
}

function addCallRoutes(
  server: Server,
  { config, store: { db }, sessions, oracle, deriveKey, logger }: PluginContext<CallsConfig, CallDatabase>,
): void {
  const { LIVEKIT_URL: url, LIVEKIT_API_KEY: apiKey, LIVEKIT_API_SECRET: apiSecret } = config;
  const key = { apiKey, apiSecret };
  const tags = ['Calls'];

  function createTicket(
    { callId, sessionId, roomName }: Record<'callId' | 'sessionId' | 'roomName', string>,
    who: Pick<LiveKitClaims, 'identity' | 'name'>,
  ) {
    const metadata = JSON.stringify({ sessionId, callId });
    const video = { room: roomName, roomJoin: true };
    const token = createLiveKitToken(key, { ...who, metadata, video }, joinSeconds);
    // Never stored, and not known to LiveKit: it is derived each time from the agent's own secret.
    const encryptionKey = deriveKey(callId).toString('base64');
    return { callId, url, token, encryptionKey, roomName };
  }

  const start = {
    tags,
    summary: 'Start a call about a session',
    body: z.object({ sessionId: z.string().min(1) }),
    response: { 201: callSchema, 404: errorBodySchema },
  };
  server.post('/calls', { schema: start }, async (request, reply) => {
    const { did } = identityOf(request);
    const { sessionId } = request.body;
    if (!(await sessions.find(did, sessionId))) throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
    const callId = uuidv7();
    const roomName = `call-${callId}`;
    await db
      .insertInto('agent_call')
      .values({ id: callId, user_did: did, session_id: sessionId, room_name: roomName, created_at: Date.now() })
      .execute();
    return reply.status(201).send(createTicket({ callId, sessionId, roomName }, { identity: did }));
  });

  // Of operators, so without the security of the other routes.
  const join = {
    tags,
    summary: "A ticket for the agent's own voice in a call (operators)",
    params: callParams,
    security: [],
    response: { 200: voiceTicketSchema, 401: errorBodySchema, 404: errorBodySchema },
  };
  const onRequest = server.operatorGuardFor('operator'); // it gives out a ticket
  server.get('/calls/:callId', { onRequest, schema: join }, async ({ params: { callId } }) => {
    const call = await db.selectFrom('agent_call').selectAll().where('id', '=', callId).executeTakeFirst();
    if (!call) throw new AppError('NOT_FOUND', 'There is no such call.');
    const { user_did: userDid, session_id: sessionId, room_name: roomName } = call;
    const ticket = createTicket({ callId, sessionId, roomName }, { identity: oracle.did, name: oracle.name });
    return { userDid, sessionId, ...ticket };
  });

  const end = {
    tags,
    summary: 'End a call',
    params: callParams,
    response: { 200: z.object({ ok: z.literal(true) }), 404: errorBodySchema },
  };
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
  identity?: string;
  name?: string;
  metadata?: string;
  video: { room?: string; roomJoin?: boolean; roomCreate?: boolean };
}

function createLiveKitToken(
  { apiKey, apiSecret }: LiveKitKey,
  { identity, name, metadata, video }: LiveKitClaims,
  lifetimeSeconds: number,
): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: apiKey, sub: identity, name, nbf: now - 30, exp: now + lifetimeSeconds, metadata, video };
  const unsigned = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`;
  return `${unsigned}.${createHmac('sha256', apiSecret).update(unsigned).digest('base64url')}`;
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
