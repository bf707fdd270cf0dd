import type { SealedTable } from '@palaver/store';

/** What is encrypted where DATA_ENCRYPTION_KEY is set. */
export const sealedTables = {
  session: { table: 'agent_session', key: ['id'], sealed: ['title', 'metadata'] },
  run: { table: 'agent_run', key: ['id'], sealed: ['input'] },
  message: { table: 'agent_message', key: ['id'], sealed: ['content', 'extras', 'hidden'] },
  frame: { table: 'agent_frame', key: ['run_id', 'first'], sealed: ['body'] },
  step: { table: 'agent_step', key: ['run_id', 'number'], sealed: ['body', 'outcomes'] },
  approval: { table: 'agent_approval', key: ['id'], sealed: ['args', 'reason'] },
  summary: { table: 'agent_summary', key: ['session_id'], sealed: ['text'] },
} satisfies Record<string, SealedTable>;
