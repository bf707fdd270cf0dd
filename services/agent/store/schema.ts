import type { EndedRunStatus, RunStatus } from '@palaver/contract';
import type { ColumnType } from 'kysely';

// Times are epoch milliseconds, JSON is text: one row type and one query text serve both engines.

interface SessionTable {
  id: string;
  user_did: string;
  title: string;
  /** 1 once the title was given by the user or taken from the first exchange. */
  named: number;
  room_id: string;
  metadata: string | null;
  created_at: ColumnType<number, number, never>;
  updated_at: number;
}

interface RunTable {
  id: string;
  session_id: string;
  user_did: string;
  request_id: string;
  message_id: string;
  /** The process that runs it: its unfinished runs are failed when it starts again. */
  instance: string;
  status: RunStatus;
  model: string;
  input_tokens: number | null;
  output_tokens: number | null;
  /** JSON of the answer so far, kept for the case that the process dies. */
  partial: string | null;
  created_at: number;
  ended_at: number | null;
}

interface MessageTable {
  id: string;
  session_id: string;
  run_id: string;
  /** `<run id>:0` for the question, `:1` for the answer: sorts a session's messages turn by turn. */
  position: string;
  type: 'human' | 'ai';
  content: string;
  status: EndedRunStatus;
  request_id: string;
  /** JSON of the optional fields of a message: tool calls, reasoning, attachments, components. */
  extras: string | null;
  created_at: number;
}

interface DelegationTable {
  user_did: string;
  agent_did: string;
  cid: string;
  /** AES-256-GCM, see `seal.ts`. */
  sealed: string;
  expires_at: number;
  stored_at: number;
}

/** Every unexpired delegation that was posted, sent downstream or revoked, without the token. */
interface KnownDelegationTable {
  cid: string;
  user_did: string;
  agent_did: string;
  expires_at: number;
  /** 1 where the user posted it, also after another one replaced it. */
  stored: number;
  /** 1 once it left the service as a proof: others hold it, so it no longer signs in. */
  sent_downstream: number;
  /** 1 once its issuer revoked it; the CID may be one that was never seen here. */
  revoked: number;
}

interface RevocationTable {
  cid: string;
  expires_at: number;
}

interface SummaryTable {
  session_id: string;
  text: string;
  /** The id of the last message it holds. */
  up_to: string;
  /** JSON list of the on-demand plugins loaded in that part. */
  capabilities: string;
  updated_at: number;
}

export interface AgentDatabase {
  agent_session: SessionTable;
  agent_run: RunTable;
  agent_message: MessageTable;
  agent_delegation: DelegationTable;
  agent_known_delegation: KnownDelegationTable;
  agent_revocation: RevocationTable;
  agent_summary: SummaryTable;
}
