import { isDeepStrictEqual } from 'node:util';
import type { DatabaseClock, Store } from '@palaver/store';
import type { KeyRing } from '@palaver/store/internal';
import { LRUCache } from 'lru-cache';
import type { UssdTables } from '../store/tables.ts';
import type { TextHash } from '../store/text-hash.ts';
import type { NewestInput } from './adapter.ts';
import { appendInput, maxListedCharacters } from './text-parts.ts';

interface Opened {
  serviceCode: string;
  phoneNumber: string;
  text: string;
  /** The id of the call, where the network gives session ids to later calls again. */
  callId?: string | undefined;
}

interface Kept extends Opened {
  last?: NewestRequest;
  /** When the gateway got the reply to the last input: from then on the same input once more is a new one. */
  answeredAt?: number;
}

type NewestRequest = Pick<NewestInput, 'sequence'> & { input: string };

export interface NewRequest extends NewestRequest, Pick<NewestInput, 'repeatWithinMs'> {
  arrivedAt: number;
}

export interface Appended extends Opened {
  /** Call it once the gateway has the reply. */
  confirm(): void;
}

/** Accumulates the inputs of gateways that send only the newest one. */
export interface InputLog {
  open(sessionId: string, opened: Opened): Promise<void>;
  /**
   * The text so far, with the input unless the request repeats the one before; the reply where it repeats the last of an ended
   * call; `undefined` when the session was never opened, or by another number.
   */
  append(sessionId: string, phoneNumber: string, newest: NewRequest): Promise<Appended | { ended: string } | undefined>;
  /** The id of a call that was opened and has no input yet: a request to open it may be repeated. */
  findUntouched(sessionId: string, phoneNumber: string): Promise<string | undefined>;
  remove(sessionId: string, last?: NewestRequest & { phoneNumber: string; reply: string }): Promise<void>;
}

/** Longer than a gateway repeats a request. */
const endedMs = 60_000;
const maxEnded = 10_000;

/**
 * The text may hold a PIN: it is sealed, bound to its session, and removed when the session ends.
 *
 * A gateway repeats a request whose reply it did not get. Where it numbers its requests, a number that is not higher than the
 * last is a repeat. Elsewhere the same input is one until the reply to the first has reached the gateway: no caller can answer a
 * screen before that, and what was sent before that is a repeat whenever it is read. `repeatWithinMs` is for networks that lose
 * replies on their way. A confirmation that is lost costs a caller who types the same twice one more key press, never an input
 * too many.
 */
export function createInputLog(
  { db }: Pick<Store<UssdTables>, 'db'>,
  { keys, clock, textHash }: { keys: KeyRing; clock: Pick<DatabaseClock, 'now'>; textHash: TextHash },
): InputLog {
  const about = (sessionId: string) => `ussd input ${sessionId}`;
  const seal = (sessionId: string, kept: Kept) => keys.seal(Buffer.from(JSON.stringify(kept)), about(sessionId));
  const load = (sessionId: string) =>
    db.selectFrom('ussd_input').selectAll().where('session_id', '=', sessionId).executeTakeFirst();
  const unseal = (row: { session_id: string; sealed: string }) =>
    JSON.parse(keys.open(row.sealed, about(row.session_id)).toString()) as Kept;
  /** The last request of ended calls, for a gateway that did not get their last reply. */
  const ended = new LRUCache<string, NewestRequest & { phoneNumber: string; reply: string }>({
    max: maxEnded,
    ttl: endedMs,
  });
  /** When replies were sent from here, by the sealed row: the database knows of them a moment later. */
  const answers = new LRUCache<string, number>({ max: maxEnded, ttl: endedMs });
  /** An input may be a PIN, and stays in memory only as its hash. */
  const hash = (sessionId: string, { input, sequence }: NewestRequest): NewestRequest => ({
    sequence,
    input: textHash.ofText(sessionId, input),
  });

  function toAppended(sessionId: string, kept: Kept, sealed: string): Appended {
    const confirm = () => {
      if (kept.answeredAt !== undefined || kept.last?.sequence !== undefined) return;
      const answeredAt = clock.now();
      answers.set(sealed, answeredAt);
      // Without it a caller whom another instance answers next is at worst asked again.
      db.updateTable('ussd_input')
        .set({ sealed: seal(sessionId, { ...kept, answeredAt }) })
        .where('session_id', '=', sessionId)
        .where('sealed', '=', sealed)
        .execute()
        .catch(() => undefined);
    };
    return { ...kept, confirm };
  }

  return {
    async open(sessionId, opened) {
      ended.delete(sessionId);
      const row = { session_id: sessionId, version: 1, sealed: seal(sessionId, opened), seen_at: clock.now() };
      await db
        .insertInto('ussd_input')
        .values(row)
        .onConflict((conflict) => conflict.column('session_id').doUpdateSet(row))
        .execute();
    },
    async append(sessionId, phoneNumber, newest) {
      // Two requests of one session at once are two inputs, one after the other; the loser of the race tries again.
      for (let attempt = 0; attempt < 10; attempt++) {
        const row = await load(sessionId);
        if (!row) {
          const last = ended.get(sessionId);
          return last?.phoneNumber === phoneNumber && isRepeat(last, hash(sessionId, newest))
            ? { ended: last.reply }
            : undefined;
        }
        const kept = unseal(row);
        if (kept.phoneNumber !== phoneNumber) return undefined;
        const answeredAt = kept.answeredAt ?? answers.get(row.sealed);
        const isRecent = clock.now() - row.seen_at < (newest.repeatWithinMs ?? 0);
        const isAnswered = answeredAt !== undefined && newest.arrivedAt >= answeredAt && !isRecent;
        if (kept.last && isRepeat(kept.last, newest, isAnswered)) return toAppended(sessionId, kept, row.sealed);
        const { serviceCode, text, callId } = kept;
        const { input, sequence } = newest;
        const next: Kept = {
          serviceCode,
          phoneNumber,
          callId,
          text: appendInput(text, input),
          last: { input, sequence },
        };
        if (next.text.length > maxListedCharacters) return undefined;
        const sealed = seal(sessionId, next);
        const { numUpdatedRows } = await db
          .updateTable('ussd_input')
          .set({ version: row.version + 1, sealed, seen_at: clock.now() })
          .where('session_id', '=', sessionId)
          .where('version', '=', row.version)
          .executeTakeFirst();
        if (numUpdatedRows === 1n) return toAppended(sessionId, next, sealed);
      }
      throw new Error('the inputs of a session were changed by others again and again');
    },
    async findUntouched(sessionId, phoneNumber) {
      const row = await load(sessionId);
      const kept = row && unseal(row);
      return kept?.phoneNumber === phoneNumber && kept.text === '' ? kept.callId : undefined;
    },
    async remove(sessionId, last) {
      if (last) ended.set(sessionId, { ...last, ...hash(sessionId, last) });
      await db.deleteFrom('ussd_input').where('session_id', '=', sessionId).execute();
    },
  };
}

function isRepeat(last: NewestRequest, { input, sequence }: NewestRequest, isAnswered = false): boolean {
  if (sequence === undefined || last.sequence === undefined) return !isAnswered && input === last.input;
  const [before, now] = [Number(last.sequence), Number(sequence)];
  return Number.isNaN(before) || Number.isNaN(now) ? isDeepStrictEqual(sequence, last.sequence) : now <= before;
}
