import type { CallerOverview } from '@palaver/contract/internal';
import { unpackDialogue, unpackOpening } from '../calls/session.ts';
import { shorten } from '../people/accounts.ts';
import { isLocked, isLockedForGood } from '../people/pin-vault.ts';
import type { People } from '../people/start-people.ts';
import type { Deployment } from '../store/deployment.ts';
import { isErased, sessionStatus } from '../store/session-row.ts';
import { type AccountTable, type SessionTable, sealedTables, toTime } from '../store/tables.ts';
import type { Results } from './results.ts';

export interface CallerParts extends Deployment, People {
  results: Results;
}

const shownSessions = 20;
const shownResults = 20;
const statuses = Object.entries(sessionStatus) as [keyof typeof sessionStatus, number][];

export function createCallers({ store, accounts, results, clock }: CallerParts) {
  const { readDb, cipher } = store;
  return {
    async recent(limit: number) {
      // A number may have called several times. One status at a time, because the index begins with it.
      const queries = statuses.map(([, status]) =>
        readDb
          .selectFrom('ussd_session')
          .select(['id', 'phone', 'service_code', 'seen_at'])
          .where('status', '=', status)
          .orderBy('opened_at', 'desc')
          .limit(limit * 3)
          .execute(),
      );
      const rows = (await Promise.all(queries))
        .flat()
        .map((row) => cipher.openRow(sealedTables.session, row))
        .filter((row) => !isErased(row))
        .sort((one, other) => other.seen_at - one.seen_at);
      const newest = new Map<string, (typeof rows)[number]>();
      for (const row of rows) if (!newest.has(row.phone) && newest.size < limit) newest.set(row.phone, row);
      return Array.from(newest.values(), (row) => ({
        phoneNumber: row.phone,
        serviceCode: row.service_code,
        seenAt: toTime(row.seen_at),
      }));
    },
    async load(phoneNumber: string) {
      const phone = cipher.token(phoneNumber);
      const sessions = await readDb
        .selectFrom('ussd_session')
        .selectAll()
        .where('phone', '=', phone)
        .orderBy('seen_at', 'desc')
        .limit(shownSessions)
        .execute();
      const profiles = readDb.selectFrom('ussd_profile').select('language').where('phone', '=', phone);
      const profile = await profiles.executeTakeFirst();
      const account = await accounts.find(phoneNumber);
      const kept = await results.ofCaller(phoneNumber, shownResults);
      if (sessions.length + kept.length === 0 && !profile && !account) return undefined;
      return {
        account: account ? toAccount(account, clock.now()) : null,
        language: profile?.language ?? null,
        sessions: sessions.map((row) => toSession(cipher.openRow(sealedTables.session, row))),
        results: kept,
      };
    },
  };
}

function toSession(row: SessionTable): CallerOverview['sessions'][number] {
  return {
    id: row.id,
    serviceCode: row.service_code,
    program: unpackOpening(row.opening).program ?? null,
    state: unpackDialogue(row.dialogue)?.state ?? null,
    status: statuses.find(([, status]) => status === row.status)?.[0] ?? 'ended',
    openedAt: toTime(row.opened_at),
    seenAt: toTime(row.seen_at),
  };
}

function toAccount(account: AccountTable, now: number): CallerOverview['account'] {
  const { name, created_at, failed_total: failedPins, address, did } = account;
  const lock = isLockedForGood(account) ? 'until unlocked' : isLocked(account, now) ? 'for a time' : 'none';
  return { name, createdAt: toTime(created_at), lock, failedPins, address: shorten(address), hasWallet: did !== null };
}
