import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { parsePostgresUrl } from '@palaver/store/internal';
import { sql } from 'kysely';
import pg from 'pg';
import type { AgentDatabase } from '../store/schema.ts';
import { type Broadcast, createInbox } from './broadcast.ts';

const channel = 'palaver_agent';
/** PostgreSQL takes 8,000 bytes; what is larger is read from the tables. */
const maxPayloadBytes = 7_500;
const reconnectMs = 1_000;

export interface PostgresBroadcastParts {
  databaseUrl: string;
  store: Store<AgentDatabase>;
  instance: string;
  logger: Logger;
}

/**
 * By LISTEN and NOTIFY, on a connection of its own. Behind a pooler in transaction mode LISTEN receives nothing; then the
 * instances find out by asking the database, about once a second.
 */
export function createPostgresBroadcast({ databaseUrl, store, instance, logger }: PostgresBroadcastParts): Broadcast {
  const inbox = createInbox(instance);
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
    own.on('notification', ({ payload }) => {
      try {
        inbox.receive(payload ?? '');
      } catch (error) {
        logger.warn({ err: error }, 'a broadcast could not be read');
      }
    });
    try {
      await own.connect();
      await own.query(`listen ${channel}`);
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
      sql`select pg_notify(${channel}, ${text})`.execute(store.db).catch(() => {});
    },
    onMessage: inbox.onMessage,
    async close() {
      closed = true;
      clearTimeout(retry);
      await client?.end().catch(() => {});
    },
  };
}
