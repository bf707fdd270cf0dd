import type { Migration, Store } from '@palaver/store';
import { sql } from 'kysely';

export interface SlackDatabase {
  agent_slack_thread: { conversation: string; user_did: string; session_id: string; created_at: number };
  agent_slack_event: { event_id: string; received_at: number };
}

export const slackMigrations: Migration[] = [
  {
    name: '0001',
    async up(db) {
      await sql`create table agent_slack_thread (
        conversation text not null, user_did text not null, session_id text not null, created_at bigint not null,
        primary key (conversation, user_did))`.execute(db);
      await sql`create table agent_slack_event (event_id text primary key, received_at bigint not null)`.execute(db);
    },
  },
];

/** Slack repeats an event for about an hour. */
const keepEventsMs = 24 * 3_600_000;

export type SlackStore = ReturnType<typeof createSlackStore>;

export function createSlackStore({ db }: Store<SlackDatabase>) {
  return {
    /** Of Slack, or a post to it. False if it was taken before, here or on another instance. */
    async takeEvent(eventId: string): Promise<boolean> {
      const now = Date.now();
      await db
        .deleteFrom('agent_slack_event')
        .where('received_at', '<', now - keepEventsMs)
        .execute();
      const result = await db
        .insertInto('agent_slack_event')
        .values({ event_id: eventId, received_at: now })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
    },

    async findSession(conversation: string, userDid: string): Promise<string | undefined> {
      const row = await db
        .selectFrom('agent_slack_thread')
        .select('session_id')
        .where('conversation', '=', conversation)
        .where('user_did', '=', userDid)
        .executeTakeFirst();
      return row?.session_id;
    },

    async keepSession(conversation: string, userDid: string, sessionId: string): Promise<void> {
      await db
        .insertInto('agent_slack_thread')
        .values({ conversation, user_did: userDid, session_id: sessionId, created_at: Date.now() })
        .onConflict((conflict) =>
          conflict.columns(['conversation', 'user_did']).doUpdateSet({ session_id: sessionId, created_at: Date.now() }),
        )
        .execute();
    },
  };
}
