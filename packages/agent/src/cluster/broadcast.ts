import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { parsePostgresUrl } from '@palaver/store/internal';
import type { Redis } from 'ioredis';
import { sql } from 'kysely';
import pg from 'pg';
import { z } from 'zod';
import type { AgentDatabase } from '../store/schema.ts';

const runId = z.string();
const sessionId = z.string();

/** What one instance sends to all others. A message may be lost: the database is authoritative, and instances that wait poll it. */
const broadcastMessageSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('abort'), runId }),
  z.object({ kind: z.literal('answered'), runId }),
  z.object({ kind: z.literal('drop'), sessionId }),
  /** This delegation of a user was revoked, or was sent downstream: it no longer signs in. */
  z.object({ kind: z.literal('refused'), did: z.string(), cid: z.string(), standing: z.enum(['revoked', 'shared']) }),
  /** A run of this session waits on the sender. */
  z.object({ kind: z.literal('waiting'), sessionId }),
  z.object({ kind: z.literal('ended'), sessionId }),
  /** A reader of the sender follows this run. */
  z.object({ kind: z.literal('follow'), runId }),
  /** Frames of this run were stored; the message carries them if they fit. */
  z.object({ kind: z.literal('frames'), runId, first: z.number(), body: z.string().optional() }),
  z.object({ kind: z.literal('erasing'), did: z.string(), isOver: z.boolean() }),
  /** Runs were handed over and wait for a new owner. */
  z.object({ kind: z.literal('released') }),
]);

export type BroadcastMessage = z.infer<typeof broadcastMessageSchema>;

export interface Broadcast {
  /** Never throws, never waits. */
  publish(message: BroadcastMessage): void;
  onMessage(handler: (message: BroadcastMessage) => void): void;
  close(): Promise<void>;
}

export const createNoBroadcast = (): Broadcast => ({ publish() {}, onMessage() {}, async close() {} });

/** Text on its way between instances; whatever is not of this version is left out. */
function createInbox(instance: string, logger: Logger) {
  const handlers = new Set<(message: BroadcastMessage) => void>();
  return {
    onMessage: (handler: (message: BroadcastMessage) => void) => void handlers.add(handler),
    toText: (message: BroadcastMessage) => JSON.stringify({ from: instance, message }),
    receive(text: string): void {
      try {
        const { from, message } = JSON.parse(text) as { from?: unknown; message?: unknown };
        const parsed = broadcastMessageSchema.safeParse(message);
        if (from === instance || !parsed.success) return;
        for (const handle of handlers) handle(parsed.data);
      } catch (error) {
        logger.warn({ err: error }, 'a broadcast could not be read');
      }
    },
  };
}

const postgresChannel = 'palaver_agent';
/** PostgreSQL takes 8,000 bytes; what is larger is read from the tables. */
const maxPayloadBytes = 7_500;
const reconnectMs = 1_000;

export interface PostgresBroadcastParts {
  databaseUrl: string;
  store: Store<AgentDatabase>;
  instance: string;
  logger: Logger;
}

/** By LISTEN and NOTIFY. Behind a pooler in transaction mode LISTEN receives nothing, and instances find out by polling. */
export function createPostgresBroadcast({ databaseUrl, store, instance, logger }: PostgresBroadcastParts): Broadcast {
  const inbox = createInbox(instance, logger);
  const { urls } = parsePostgresUrl(databaseUrl);
  let attempt = 0;
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  async function listen(): Promise<void> {
    // A standby refuses LISTEN, so that the next address is tried.
    const connectionString = urls[attempt % urls.length];
    attempt += 1;
    const own = new pg.Client({ connectionString, application_name: 'palaver-listen', keepAlive: true });
    client = own;
    own.on('error', () => {});
    own.on('end', reconnect);
    own.on('notification', ({ payload }) => inbox.receive(payload ?? ''));
    try {
      await own.connect();
      await own.query(`listen ${postgresChannel}`);
    } catch {
      own.end().catch(() => {});
      reconnect();
    }
  }

  function reconnect(): void {
    if (closed || retry) return;
    retry = setTimeout(() => {
      retry = undefined;
      void listen();
    }, reconnectMs);
  }

  void listen();
  return {
    publish(message) {
      let text = inbox.toText(message);
      if (Buffer.byteLength(text) > maxPayloadBytes && message.kind === 'frames')
        text = inbox.toText({ kind: 'frames', runId: message.runId, first: message.first });
      sql`select pg_notify(${postgresChannel}, ${text})`.execute(store.db).catch(() => {});
    },
    onMessage: inbox.onMessage,
    async close() {
      closed = true;
      clearTimeout(retry);
      await client?.end().catch(() => {});
    },
  };
}

const redisChannel = 'palaver:agent:broadcast';

/** By Redis pub/sub. While Redis is unreachable messages are dropped. */
export function createRedisBroadcast(redis: Redis, instance: string, logger: Logger): Broadcast {
  const inbox = createInbox(instance, logger);
  const subscriber = redis.duplicate({
    lazyConnect: true,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    // Its own way to subscribe again does not catch that the connection is closed meanwhile.
    autoResubscribe: false,
  });
  // The main connection logs that Redis is unreachable.
  subscriber.on('error', () => {});
  subscriber.on('message', (_channel, text) => inbox.receive(text));
  subscriber.on('ready', () => void subscriber.subscribe(redisChannel).catch(() => {}));
  subscriber.connect().catch(() => {});
  return {
    publish(message) {
      if (redis.status === 'ready') redis.publish(redisChannel, inbox.toText(message)).catch(() => {});
    },
    onMessage: inbox.onMessage,
    async close() {
      subscriber.disconnect();
    },
  };
}
