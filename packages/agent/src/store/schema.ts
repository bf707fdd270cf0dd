import type { EndedRunStatus, RunStatus } from '@palaver/contract';
import type { ApprovalStatus } from '@palaver/contract/internal';
import type { SealedTable } from '@palaver/store';
import type { LeaseColumns } from '@palaver/store/internal';
import type { ColumnType, Generated } from 'kysely';

// Times are epoch milliseconds, JSON is text: one row type and one query text serve both engines.

interface SessionTable {
  id: string;
  user_did: string;
  title: string;
  /** 1 once the title was given by the user or taken from the first exchange. */
  named: number;
  room_id: string;
  metadata: string | null;
  initial_bytes: Generated<number>;
  created_at: ColumnType<number, number, never>;
  updated_at: number;
  run_count: Generated<number>;
}

interface RunTable {
  id: string;
  session_id: string;
  user_did: string;
  request_id: string;
  message_id: string;
  /** The instance that owns it; empty for one that was handed over. */
  instance: string;
  status: RunStatus;
  model: string;
  input_tokens: number | null;
  output_tokens: number | null;
  created_at: number;
  started_at: number | null;
  /** When it last began to wait for its user or continued after that; null for one that never waited. */
  changed_at: number | null;
  ended_at: number | null;
  /** Its place in the session, given by the database. */
  number: number;
  /** 1 while it runs; unique within a session. */
  active: number | null;
  /** The fencing number: raised with every new owner, and only the newest owner writes. */
  epoch: Generated<number>;
  deaths: Generated<number>;
  /** 1 once its abort was confirmed: it ends as aborted, whatever else happens. */
  aborting: Generated<number>;
  /** Of the previous version, which let the end of a slow owner replace that of the sweep. */
  swept: Generated<number>;
  /** JSON of what another instance needs to take over the run; null if it cannot. */
  input: string | null;
}

interface StepTable {
  run_id: string;
  number: number;
  /** Characters of the answer when its tools began. */
  said: number;
  body: string;
  /** JSON of what the tools returned; null while they run. */
  outcomes: string | null;
  created_at: number;
}

interface ApprovalTable {
  id: string;
  run_id: string;
  user_did: string;
  call_id: string;
  tool_name: string;
  args: string;
  status: ApprovalStatus;
  asked_at: number;
  expires_at: number;
  answered_at: number | null;
  answered_by: string | null;
  reason: string | null;
  /** 1 once the frame that asks for it is stored. */
  streamed: Generated<number>;
  capability: string | null;
  invocation: string | null;
  /** The invocation that the user signed; AES-256-GCM, see `seal.ts`. */
  signed: string | null;
}

interface MessageTable {
  id: string;
  session_id: string;
  run_id: string;
  /** `<run id>:0` for the question, `:1` for the answer; names a message in cursors. */
  position: string;
  /** Twice the run's number, and one more for the answer: the order of a session's messages. */
  number: Generated<number>;
  type: 'human' | 'ai';
  content: string;
  status: EndedRunStatus;
  request_id: string;
  /** JSON of the optional fields of a message: tool calls, reasoning, attachments, components, and the order of its parts. */
  extras: string | null;
  /** JSON of what clients are not shown: the texts of files, and the conversation that came with a question. */
  hidden: string | null;
  created_at: number;
}

/** Every unexpired delegation that was posted, sent downstream or revoked. */
interface DelegationTable {
  cid: string;
  /** A keyed hash of it once the user was erased. */
  user_did: string;
  agent_did: string;
  expires_at: number;
  /** When the user posted it last; null where they did not. */
  stored_at: number | null;
  /** 1 once it left the service as a proof: others hold it, so it no longer signs in. */
  sent_downstream: number;
  /** 1 once its issuer revoked it; the CID may be one that was never seen here. */
  revoked: number;
  /** The token where it was posted and is not revoked: AES-256-GCM, see `seal.ts`. */
  sealed: string | null;
  /** JSON of what it grants, encrypted in the same way: they are shown without reading the token. */
  capabilities: string | null;
}

interface SummaryTable {
  session_id: string;
  text: string;
  up_to: string;
  capabilities: string;
  updated_at: number;
}

export interface AgentDatabase {
  agent_session: SessionTable;
  agent_run: RunTable;
  agent_message: MessageTable;
  /** Messages with numbers from `first` to before `last` are not part of the conversation any more: the run with half of `last` replaced them. */
  agent_replaced: { session_id: string; first: number; last: number };
  agent_delegation: DelegationTable;
  agent_summary: SummaryTable;
  agent_instance: { id: string; seen_at: number };
  agent_lease: LeaseColumns;
  agent_frame: { run_id: string; first: number; last: number; body: string; created_at: number };
  agent_step: StepTable;
  agent_send: { user_did: string; key: string; run_id: string; body_hash: string; created_at: number };
  agent_approval: ApprovalTable;
}

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
