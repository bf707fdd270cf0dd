import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Started } from '../calls/start-calls.ts';
import { textingMs } from '../store/session-row.ts';
import { insertOnce } from '../store/tables.ts';
import type { NewestInput } from './adapter.ts';
import { appendInput, maxListedCharacters, toParts } from './text-parts.ts';

export interface Opened {
  serviceCode: string;
  phoneNumber: string;
  text: string;
  /** A dialogue by SMS, which lasts longer than a call. */
  isTexting?: boolean | undefined;
  /** The sequences of the newest texts, that of the keyword first. */
  received?: readonly unknown[] | undefined;
  /** The id of the call, where the network gives session ids to later calls again. */
  callId?: string | undefined;
  /** The sequence of the request that opened the call, where it is not known that later ones have others. */
  openedWith?: unknown;
}

export interface Ended extends NewestRequest {
  phoneNumber: string;
  reply: string;
  at: number;
}

interface Kept extends Opened {
  ended?: Ended;
  /** Each request has another sequence than the one before. */
  isCounted?: boolean;
  last?: NewestRequest & { at: number };
  /** When the gateway got the reply to the last input: from then on the same input once more is a new one. */
  answeredAt?: number;
}

type NewestRequest = Pick<NewestInput, 'sequence'> & { input: string };

export interface NewRequest extends NewestRequest, Pick<NewestInput, 'repeatWithinMs'> {
  arrivedAt: number;
  /** Later than this the same input is a new one, answered or not. */
  repeatForMs?: number;
}

export interface Appended extends Opened {
  confirm(): void;
}

/** Longer than a gateway repeats a request. */
const endedMs = 60_000;
const maxEnded = 10_000;
/** More texts than a dialogue has, and fewer than the session field of SMPP counts before it begins again. */
const maxReceived = 100;
/** A repeat of a request before the last one: its screen was shown, and the caller has answered it. */
const late = { ended: '' };

/**
 * The text may hold a PIN: it is sealed, bound to its session, and removed when the session ends. A gateway repeats a request
 * whose reply it did not get: where each request has a number or id of its own, one that the call has had is a repeat.
 * Elsewhere the same input is a repeat until the first reply has reached the gateway, because no caller can answer a screen
 * before that. `repeatWithinMs` is for networks that lose replies.
 */
export function createInputLog({ store, keys, clock, textHash, timeoutMs, hangUp }: Started) {
  const { db, cipher } = store;
  const about = (sessionId: string) => `ussd input ${sessionId}`;
  const seal = (sessionId: string, kept: Kept) => keys.seal(Buffer.from(JSON.stringify(kept)), about(sessionId));
  const toRow = (sessionId: string, version: number, kept: Kept) => ({
    session_id: sessionId,
    phone: cipher.token(kept.phoneNumber),
    version,
    sealed: seal(sessionId, kept),
    kept_until: clock.now() + (kept.isTexting ? textingMs : timeoutMs),
  });
  const load = (sessionId: string) =>
    db.selectFrom('ussd_input').selectAll().where('session_id', '=', sessionId).executeTakeFirst();
  /** `undefined` where its key is no longer in use: a dialogue by SMS may outlive it. */
  const unseal = (row: { session_id: string; sealed: string } | undefined): Kept | undefined => {
    if (!row || !keys.has(row.sealed)) return undefined;
    return JSON.parse(keys.open(row.sealed, about(row.session_id)).toString());
  };
  /** The last request of ended calls, for a gateway that did not get their last reply. */
  const ended = new LRUCache<string, Ended>({ max: maxEnded, ttl: endedMs });
  /** When replies were sent from here, by the sealed row: the database knows of them a moment later. */
  const answers = new LRUCache<string, number>({ max: maxEnded, ttl: endedMs });
  /** An input may be a PIN, and stays in memory only as its hash. */
  const hash = (sessionId: string, { input, sequence }: NewestRequest): NewestRequest => ({
    sequence,
    input: textHash.ofText(sessionId, input),
  });

  function toAppended(sessionId: string, kept: Kept, sealed: string): Appended {
    const confirm = () => {
      if (kept.answeredAt !== undefined || kept.isCounted) return;
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
    async open(sessionId: string, opened: Opened) {
      ended.delete(sessionId);
      const row = toRow(sessionId, 1, opened);
      await db
        .insertInto('ussd_input')
        .values(row)
        .onConflict((conflict) => conflict.column('session_id').doUpdateSet(row))
        .execute();
    },
    /** The text so far, or the last reply of an ended call; `undefined` when this number never opened the session. */
    async append(sessionId: string, phoneNumber: string, newest: NewRequest) {
      // Two requests of one session at once are two inputs, one after the other; the loser of the race tries again.
      for (let attempt = 0; attempt < 10; attempt++) {
        const row = await load(sessionId);
        const kept = unseal(row);
        if (!row || !kept || kept.ended) {
          const last = kept?.ended ?? ended.get(sessionId);
          if (last?.phoneNumber !== phoneNumber) return undefined;
          const { input, sequence } = hash(sessionId, newest);
          if (last.input === input && isDeepStrictEqual(last.sequence, sequence)) return { ended: last.reply };
          return kept && newest.arrivedAt < last.at ? late : undefined;
        }
        if (kept.phoneNumber !== phoneNumber) return undefined;
        if (kept.openedWith !== undefined && isLate(kept, newest)) return late;
        const answeredAt = kept.answeredAt ?? answers.get(row.sealed);
        const { repeatWithinMs = 0, repeatForMs = Number.POSITIVE_INFINITY } = newest;
        const ageMs = clock.now() - (kept.last?.at ?? 0);
        const isSeen = answeredAt !== undefined && newest.arrivedAt >= answeredAt && ageMs >= repeatWithinMs;
        const isAnswered = isSeen || ageMs > repeatForMs;
        const { serviceCode, text, callId, openedWith, isTexting, received = [] } = kept;
        const { input, sequence } = newest;
        const isCounted =
          sequence !== undefined && (kept.isCounted || openedWith === undefined || sequence !== openedWith);
        const isSame = input === kept.last?.input;
        const isNumbered = openedWith === undefined ? wasTaken(kept, sequence) : isSame && isOf(kept.last, sequence);
        if (isCounted ? isNumbered : isSame && !isAnswered) return toAppended(sessionId, kept, row.sealed);
        const next: Kept = {
          serviceCode,
          phoneNumber,
          callId,
          isTexting,
          received: sequence === undefined ? received : [...received, sequence].slice(-maxReceived),
          openedWith,
          isCounted,
          text: appendInput(text, input),
          last: { input, sequence, at: clock.now() },
        };
        if (next.text.length > maxListedCharacters) return undefined;
        const changed = toRow(sessionId, row.version + 1, next);
        const { numUpdatedRows } = await db
          .updateTable('ussd_input')
          .set(changed)
          .where('session_id', '=', sessionId)
          .where('version', '=', row.version)
          .executeTakeFirst();
        if (numUpdatedRows === 1n) return toAppended(sessionId, next, changed.sealed);
      }
      throw new Error('the inputs of a session were changed by others again and again');
    },
    /** Returns the call's id; `undefined` for a repeat of the first request once the call has gone on. */
    async openReused(
      sessionId: string,
      { arrivedAt = Number.POSITIVE_INFINITY, ...opened }: Omit<Opened, 'text'> & { arrivedAt?: number },
    ) {
      const callId = randomUUID();
      const before = await load(sessionId);
      const known = unseal(before);
      const last = known?.ended ?? known?.last;
      if (last && arrivedAt < last.at) return undefined;
      const isSame = known?.text === '' && known.serviceCode === opened.serviceCode;
      if (isSame && known.callId !== undefined) return known.callId;
      ended.delete(sessionId);
      const received = opened.received && [...(known?.received ?? []), ...opened.received].slice(-maxReceived);
      const row = toRow(sessionId, (before?.version ?? 0) + 1, { ...opened, received, text: '', callId });
      // Where another instance opens it at the same time, the first one does.
      if (before)
        await db
          .updateTable('ussd_input')
          .set(row)
          .where('session_id', '=', sessionId)
          .where('sealed', '=', before.sealed)
          .execute();
      else await insertOnce(db, 'ussd_input', row);
      return unseal(await load(sessionId))?.callId ?? callId;
    },
    /** What a request that opens a call repeats: the text so far of the call that it has opened. */
    async findOpened(sessionId: string, phoneNumber: string, sequence: unknown) {
      const kept = unseal(await load(sessionId));
      const isRepeat = kept?.phoneNumber === phoneNumber && kept.text !== '' && wasTaken(kept, sequence);
      return isRepeat ? { serviceCode: kept.serviceCode, text: kept.text } : undefined;
    },
    isKnown: async (sessionId: string) => (await load(sessionId)) !== undefined,
    /** Whether it came before the newest one of its session, which may have to be handled once more. */
    async wasReceived(sessionId: string, sequence: unknown) {
      const received = unseal(await load(sessionId))?.received ?? [];
      return received.slice(0, -1).includes(sequence);
    },
    async hangUp(sessionId: string) {
      const removed = db
        .deleteFrom('ussd_input')
        .where('session_id', '=', sessionId)
        .returning(['session_id', 'sealed']);
      await hangUp(unseal(await removed.executeTakeFirst())?.callId ?? sessionId);
    },
    /** `isShared`: links of other instances may repeat the last request. */
    async remove(sessionId: string, last?: Omit<Ended, 'at'>, isShared = false) {
      const kept = last && { ...last, ...hash(sessionId, last), at: clock.now() };
      if (kept) ended.set(sessionId, kept);
      if (kept && isShared) {
        const { phoneNumber } = kept;
        const sealed = seal(sessionId, { serviceCode: '', phoneNumber, text: '', ended: kept });
        await db.updateTable('ussd_input').set({ sealed }).where('session_id', '=', sessionId).execute();
        return;
      }
      await db.deleteFrom('ussd_input').where('session_id', '=', sessionId).execute();
    },
  };
}

export type InputLog = ReturnType<typeof createInputLog>;

/** No caller answers a screen that is not shown yet, so what came before the last input was taken is not newer than it. */
function isLate({ text, last, received = [] }: Kept, { input, sequence, arrivedAt }: NewRequest): boolean {
  if (!last || isOf(last, sequence)) return false;
  if (arrivedAt < last.at) return true;
  const typed = toParts(text);
  // The sequences of an earlier call come first.
  const earlier = received.length - typed.length;
  return received.some((each, i) => isDeepStrictEqual(each, sequence) && typed[i - earlier]?.value === input.trim());
}

const isOf = (last: NewestRequest | undefined, sequence: unknown) => isDeepStrictEqual(last?.sequence, sequence);

const wasTaken = ({ received = [] }: Kept, sequence: unknown) =>
  received.some((each) => isDeepStrictEqual(each, sequence));
