import { AppError, type CursorPageQuery, type Message, type MessagePage } from '@palaver/contract';
import type { Store } from '@palaver/store';
import type { AgentDatabase } from './schema.ts';

type MessageRow = AgentDatabase['agent_message'];

/** The optional fields of a message, kept as one JSON text. */
export type MessageExtras = Pick<Message, 'toolCalls' | 'reasoning' | 'attachments' | 'components'>;

export type MessageStore = ReturnType<typeof createMessageStore>;

/** The messages of sessions whose ownership the caller has checked. */
export function createMessageStore({ db, prepare }: Store<AgentDatabase>) {
  const listBefore = prepare(
    (query, { sessionId, position, limit }: { sessionId: string; position: string; limit: number }) =>
      query
        .selectFrom('agent_message')
        .selectAll()
        .where('session_id', '=', sessionId)
        .where('position', '<', position)
        .orderBy('position', 'desc')
        .limit(limit),
  );
  const listBetween = prepare((query, range: { sessionId: string; position: string; limit: number; after: string }) =>
    query
      .selectFrom('agent_message')
      .selectAll()
      .where('session_id', '=', range.sessionId)
      .where('position', '<', range.position)
      .where('position', '>', (eb) =>
        eb.selectFrom('agent_message as known').select('known.position').where('known.id', '=', range.after),
      )
      .orderBy('position', 'desc')
      .limit(range.limit),
  );

  return {
    async list(sessionId: string): Promise<Message[]> {
      const rows = await db
        .selectFrom('agent_message')
        .selectAll()
        .where('session_id', '=', sessionId)
        .orderBy('position')
        .execute();
      return rows.map(toMessage);
    },

    /** What was said before a run, oldest first; at most the newest `limit` messages, and those after message `after`. */
    async before(sessionId: string, runId: string, limit: number, after?: string): Promise<Message[]> {
      const range = { sessionId, position: runId, limit };
      const { rows } = after === undefined ? await listBefore(range) : await listBetween({ ...range, after });
      return rows.reverse().map(toMessage);
    },

    async page(sessionId: string, { limit, before, after }: CursorPageQuery): Promise<MessagePage> {
      const own = db.selectFrom('agent_message').selectAll().where('session_id', '=', sessionId);
      let rows: MessageRow[];
      if (after === undefined) {
        const older = before === undefined ? own : own.where('position', '<', fromCursor('before', before));
        rows = (await older.orderBy('position', 'desc').limit(limit).execute()).reverse();
      } else {
        rows = await own.where('position', '>', fromCursor('after', after)).orderBy('position').limit(limit).execute();
      }
      const exists = async (comparison: '<' | '>', row: MessageRow | undefined) =>
        row !== undefined && (await own.where('position', comparison, row.position).limit(1).execute()).length > 0;
      const hasOlder = await exists('<', rows[0]);
      const hasNewer = await exists('>', rows.at(-1));
      return {
        messages: rows.map(toMessage),
        prevCursor: hasOlder ? toCursor(rows[0]) : null,
        nextCursor: hasNewer ? toCursor(rows.at(-1)) : null,
        hasOlder,
        hasNewer,
      };
    },
  };
}

export function toMessage(row: MessageRow): Message {
  return {
    id: row.id,
    type: row.type,
    content: row.content,
    createdAt: new Date(row.created_at).toISOString(),
    status: row.status,
    requestId: row.request_id,
    ...(row.extras === null ? {} : (JSON.parse(row.extras) as MessageExtras)),
  };
}

const positionPattern = /^[0-9a-f-]{36}:[01]$/;

function toCursor(row: MessageRow | undefined): string | null {
  return row === undefined ? null : Buffer.from(row.position).toString('base64url');
}

function fromCursor(path: 'before' | 'after', cursor: string): string {
  const position = Buffer.from(cursor, 'base64url').toString();
  if (positionPattern.test(position)) return position;
  const message = 'must be a cursor of an earlier page';
  throw new AppError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } });
}
