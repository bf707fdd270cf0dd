import type { Store } from '@palaver/store';
import type { AgentDatabase } from './schema.ts';

/** What is known of the part of a session that the model is no longer given word for word. */
export interface HistorySummary {
  text: string;
  /** The id of the last message it holds. */
  upTo: string;
  /** On-demand plugins that were loaded in that part. */
  capabilities: string[];
}

export type SummaryStore = ReturnType<typeof createSummaryStore>;

export function createSummaryStore({ db }: Store<AgentDatabase>) {
  return {
    async find(sessionId: string): Promise<HistorySummary | undefined> {
      const row = await db
        .selectFrom('agent_summary')
        .selectAll()
        .where('session_id', '=', sessionId)
        .executeTakeFirst();
      return row && { text: row.text, upTo: row.up_to, capabilities: JSON.parse(row.capabilities) as string[] };
    },

    async save(sessionId: string, { text, upTo, capabilities }: HistorySummary): Promise<void> {
      const row = { text, up_to: upTo, capabilities: JSON.stringify(capabilities), updated_at: Date.now() };
      await db
        .insertInto('agent_summary')
        .values({ session_id: sessionId, ...row })
        .onConflict((conflict) => conflict.column('session_id').doUpdateSet(row))
        .execute();
    },
  };
}
