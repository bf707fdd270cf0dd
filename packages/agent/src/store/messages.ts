import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Message } from '@palaver/contract';
import { type CursorPageQuery, invalid } from '@palaver/contract/internal';
import type { Store } from '@palaver/store';
import { unreadableText } from '@palaver/store/internal';
import { type Selectable, type SqlBool, sql } from 'kysely';
import { type HiddenExtras, type MessageExtras, type StoredMessage, toParts, toShown } from './message.ts';
import { type AgentDatabase, sealedTables } from './schema.ts';

/** Rows and bytes read at a time of a list that is read to its end; a row may have a megabyte. */
const rowsAtOnce = 100;
const listBytes = 512 * 1024;
/** Bytes of the rows of one page, which has at least one row. */
const pageBytes = 4 * 1024 * 1024;
/** Bytes that a turn reads of its session: ten times what a large context holds. */
const historyBytes = 4 * 1024 * 1024;

type MessageRow = Selectable<AgentDatabase['agent_message']>;
type ShownRow = Omit<MessageRow, 'hidden'>;
const shownColumns = [
  'id',
  'session_id',
  'run_id',
  'position',
  'number',
  'type',
  'content',
  'status',
  'request_id',
  'extras',
  'created_at',
] as const satisfies (keyof ShownRow)[];
const shownSize = sql<number>`octet_length(content) + coalesce(octet_length(extras), 0)`;
export const wholeSize = sql<number>`${shownSize} + coalesce(octet_length(hidden), 0)`;

/** False for replaced messages and those after them, compared by number: an answer that ends later is covered too. */
export const isActiveIn = (messages: string) => {
  const [sessionId, number] = [sql.ref(`${messages}.session_id`), sql.ref(`${messages}.number`)];
  return sql<SqlBool>`not exists (select 1 from agent_replaced as gap
    where gap.session_id = ${sessionId} and ${number} >= gap.first and ${number} < gap.last)`;
};
export const isActive = isActiveIn('agent_message');

/** Reads that many bytes, which may wait for others that read much. */
export type Reading = <T>(bytes: number, read: () => Promise<T>) => Promise<T>;
type Within = { limit: number; bytes: number; reading: Reading };
const readAtOnce: Reading = (_bytes, read) => read();

/** The messages of sessions. */
export type MessageStore = ReturnType<typeof createMessageStore>;

/** The messages of sessions whose ownership the caller has checked. */
export function createMessageStore({ db, prepare, cipher }: Store<AgentDatabase>) {
  const toStored = (row: MessageRow) =>
    fromRow(cipher.openRow(sealedTables.message, row, { content: unreadableText, extras: null, hidden: null }));
  const toMessage = (row: ShownRow) => toShown(toStored({ ...row, hidden: null }));
  const listBefore = prepare((query, range: { sessionId: string; runId: string; limit: number }) => {
    const unread = query
      .selectFrom('agent_message')
      .where('session_id', '=', range.sessionId)
      .where(isActive)
      .where('number', '<', (eb) =>
        eb
          .selectFrom('agent_run')
          .select((run) => run('number', '*', 2).as('number'))
          .where('id', '=', range.runId),
      )
      .where('number', '>', (eb) =>
        eb.fn.coalesce(
          eb
            .selectFrom('agent_summary')
            .innerJoin('agent_message as known', 'known.id', 'agent_summary.up_to')
            .select('known.number')
            .where('agent_summary.session_id', '=', range.sessionId)
            .where(isActiveIn('known')),
          eb.lit(0),
        ),
      );
    // Sizes are known without reading the texts.
    const newer = sql<number>`sum(${wholeSize}) over (order by number desc) - (${wholeSize})`.as('newer');
    const sizes = unread.select(['number', newer]).orderBy('number', 'desc').limit(range.limit).as('sized');
    return query
      .selectFrom('agent_message')
      .selectAll()
      .where('session_id', '=', range.sessionId)
      .where('number', 'in', (eb) =>
        eb.selectFrom(sizes).select('sized.number').where('sized.newer', '<', historyBytes),
      )
      .orderBy('number', 'desc');
  });

  const selectActive = (sessionId: string) =>
    db.selectFrom('agent_message').where('session_id', '=', sessionId).where(isActive);

  async function readWithin(range: ReturnType<typeof selectActive>, { limit, bytes, reading }: Within) {
    const sizes = await range
      .select(['number', shownSize.as('size')])
      .limit(limit)
      .execute();
    const { numbers, size } = takeWithin(sizes, bytes);
    if (numbers.length === 0) return { rows: [], messages: [] };
    return await reading(size, async () => {
      const rows = await range.select(shownColumns).where('number', 'in', numbers).execute();
      rows.sort((one, other) => one.number - other.number);
      return { rows, messages: rows.map(toMessage) };
    });
  }

  /** Oldest first, a few at a time: a session may be larger than the memory. */
  async function* each(sessionId: string, reading = readAtOnce): AsyncGenerator<Message> {
    const ordered = selectActive(sessionId).orderBy('number');
    for (let last = 0; ; ) {
      const options = { limit: rowsAtOnce, bytes: listBytes, reading };
      const { rows, messages } = await readWithin(ordered.where('number', '>', last), options);
      if (rows.length === 0) return;
      last = rows.at(-1)?.number ?? last;
      yield* messages;
      await letOthersRun();
    }
  }

  return {
    each,
    async list(sessionId: string): Promise<Message[]> {
      const messages: Message[] = [];
      for await (const message of each(sessionId)) messages.push(message);
      return messages;
    },

    async find(sessionId: string, id: string): Promise<Message | undefined> {
      const own = db.selectFrom('agent_message').select(shownColumns).where('session_id', '=', sessionId);
      const row = await own.where('id', '=', id).executeTakeFirst();
      return row && toMessage(row);
    },

    async question({ sessionId, runId }: { sessionId: string; runId: string }): Promise<StoredMessage | undefined> {
      const own = db.selectFrom('agent_message').selectAll().where('session_id', '=', sessionId);
      const row = await own.where('position', '=', `${runId}:0`).executeTakeFirst();
      return row && toStored(row);
    },

    async isQuestion(sessionId: string, id: string): Promise<boolean> {
      const own = selectActive(sessionId).select('id').where('id', '=', id).where('type', '=', 'human');
      return (await own.execute()).length > 0;
    },

    async last(sessionId: string): Promise<Message | undefined> {
      const newest = selectActive(sessionId).select(shownColumns).orderBy('number', 'desc').limit(1);
      const row = await newest.executeTakeFirst();
      return row && toMessage(row);
    },

    /** What was said before a run and is not summarised, as much as fits, oldest first; and whether that is all there is. */
    async before(sessionId: string, runId: string, limit: number) {
      const { rows } = await listBefore({ sessionId, runId, limit });
      return { messages: rows.reverse().map(toStored), isWhole: rows[0]?.number === firstNumber };
    },

    /** At most `limit` messages, and as many as fit in memory. */
    async page(sessionId: string, { limit, before, after }: CursorPageQuery, reading = readAtOnce) {
      const own = selectActive(sessionId);
      const numberAt = (position: string) =>
        db
          .selectFrom('agent_message as known')
          .select('known.number')
          .where('known.session_id', '=', sessionId)
          .where('known.position', '=', position);
      const range =
        after !== undefined
          ? own.where('number', '>', numberAt(fromCursor('after', after))).orderBy('number')
          : (before === undefined ? own : own.where('number', '<', numberAt(fromCursor('before', before)))).orderBy(
              'number',
              'desc',
            );
      const { rows, messages } = await readWithin(range, { limit, bytes: pageBytes, reading });
      const exists = async (comparison: '<' | '>', row: ShownRow | undefined) =>
        row !== undefined &&
        (await own.select('number').where('number', comparison, row.number).limit(1).execute()).length > 0;
      const hasOlder = await exists('<', rows[0]);
      const hasNewer = await exists('>', rows.at(-1));
      return {
        messages,
        prevCursor: hasOlder ? toCursor(rows[0]) : null,
        nextCursor: hasNewer ? toCursor(rows.at(-1)) : null,
        hasOlder,
        hasNewer,
      };
    },
  };
}

function fromRow(row: MessageRow): StoredMessage {
  const { order, ...extras }: MessageExtras & HiddenExtras = {
    ...(row.extras !== null && JSON.parse(row.extras)),
    ...(row.hidden !== null && JSON.parse(row.hidden)),
  };
  return {
    id: row.id,
    type: row.type,
    content: row.content,
    createdAt: new Date(row.created_at).toISOString(),
    status: row.status,
    requestId: row.request_id,
    ...extras,
    parts: toParts({ ...extras, content: row.content }, order),
  };
}

/** At least one row, and those after it that fit. */
function takeWithin(rows: { number: number; size: number }[], bytes: number): { numbers: number[]; size: number } {
  const numbers: number[] = [];
  let total = 0;
  for (const { number, size } of rows) {
    if (numbers.length > 0 && total + Number(size) > bytes) break;
    numbers.push(number);
    total += Number(size);
  }
  return { numbers, size: total };
}

/** The number of the question of a session's first run. */
const firstNumber = 2;

const positionPattern = /^[0-9a-f-]{36}:[01]$/;

function toCursor(row: ShownRow | undefined): string | null {
  return row === undefined ? null : Buffer.from(row.position).toString('base64url');
}

function fromCursor(path: 'before' | 'after', cursor: string): string {
  const position = Buffer.from(cursor, 'base64url').toString();
  if (positionPattern.test(position)) return position;
  throw invalid(path, 'must be a cursor of an earlier page');
}

/** What is known of the part of a session that the model is no longer given word for word. */
export type HistorySummary = { text: string; upTo: string; capabilities: string[] };

export type SummaryStore = ReturnType<typeof createSummaryStore>;

export function createSummaryStore({ db, cipher }: Store<AgentDatabase>) {
  const isReplaced = sql<boolean>`exists (select 1 from agent_message as known
    where known.id = agent_summary.up_to and not (${isActiveIn('known')}))`;

  return {
    /** Not one that holds replaced messages: it may have been stored while they were replaced. */
    async find(sessionId: string): Promise<HistorySummary | undefined> {
      const query = db.selectFrom('agent_summary').selectAll().where('session_id', '=', sessionId);
      const stored = await query.where((eb) => eb.not(isReplaced)).executeTakeFirst();
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
