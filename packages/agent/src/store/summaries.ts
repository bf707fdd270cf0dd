import type { Store } from '@palaver/store';
import { unreadableText } from '@palaver/store/internal';
import { sql } from 'kysely';
import { isActive, isActiveIn } from './messages.ts';
import type { AgentDatabase } from './schema.ts';
import { sealedTables } from './sealed-tables.ts';

/** What is known of the part of a session that the model is no longer given word for word. */
export interface HistorySummary {
  text: string;
  /** The id of the last message it holds. */
  upTo: string;
  /** On-demand plugins that were loaded in that part. */
  capabilities: string[];
}

export type SummaryStore = ReturnType<typeof createSummaryStore>;

export function createSummaryStore({ db, cipher }: Store<AgentDatabase>) {
  const isReplaced = sql<boolean>`exists (select 1 from agent_message as known
    where known.id = agent_summary.up_to and not (${isActiveIn('known')}))`;

  return {
    /** Not one that holds replaced messages: it may have been stored while they were replaced. */
    async find(sessionId: string): Promise<HistorySummary | undefined> {
      const stored = await db
        .selectFrom('agent_summary')
        .selectAll()
        .where('session_id', '=', sessionId)
        .where((eb) => eb.not(isReplaced))
        .executeTakeFirst();
      const row = stored && cipher.openRow(sealedTables.summary, stored, { text: unreadableText });
      return row && { text: row.text, upTo: row.up_to, capabilities: JSON.parse(row.capabilities) as string[] };
    },

    /** Has no effect where the last message it holds was replaced meanwhile. */
    async save(sessionId: string, { text, upTo, capabilities }: HistorySummary): Promise<void> {
      const sealed = cipher.sealRow(sealedTables.summary, { session_id: sessionId, text });
      await sql`insert into agent_summary (session_id, text, up_to, capabilities, updated_at)
        select session_id, cast(${sealed.text} as text), id, cast(${JSON.stringify(capabilities)} as text),
          cast(${Date.now()} as bigint)
        from agent_message where id = ${upTo} and session_id = ${sessionId} and ${isActive}
        on conflict (session_id) do update set text = excluded.text, up_to = excluded.up_to,
          capabilities = excluded.capabilities, updated_at = excluded.updated_at`.execute(db);
    },
  };
}
