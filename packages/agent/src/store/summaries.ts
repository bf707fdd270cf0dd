import { type Store, unreadableText } from '@palaver/store';
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
  return {
    async find(sessionId: string): Promise<HistorySummary | undefined> {
      const stored = await db
        .selectFrom('agent_summary')
        .selectAll()
        .where('session_id', '=', sessionId)
        .executeTakeFirst();
      const row = stored && cipher.openRow(sealedTables.summary, stored, { text: unreadableText });
      return row && { text: row.text, upTo: row.up_to, capabilities: JSON.parse(row.capabilities) as string[] };
    },

    async save(sessionId: string, { text, upTo, capabilities }: HistorySummary): Promise<void> {
      const plain = { text, up_to: upTo, capabilities: JSON.stringify(capabilities), updated_at: Date.now() };
      const row = cipher.sealRow(sealedTables.summary, { session_id: sessionId, ...plain });
      await db
        .insertInto('agent_summary')
        .values(row)
        .onConflict((conflict) => conflict.column('session_id').doUpdateSet(row))
        .execute();
    },
  };
}
