import { createHmac, hkdfSync, randomInt } from 'node:crypto';
import { createGatewayClient, type GatewayAccess } from '@palaver/protocol';
import { findAddress, toAccessHeaders } from '@palaver/protocol/internal';
import { unreadableText } from '@palaver/store/internal';
import { createDidResolver, createVerifier, deriveSigner } from '@palaver/ucan';
import type { Kysely } from 'kysely';
import { type Clock, insertOnce, sealedTables, type Trx, type UssdStore, type UssdTables } from '../store/tables.ts';

export interface Wallet {
  did: string;
  address: string;
}

const lifetimeMs = 10 * 60_000;
const digits = 8;

/** Wallets that wait to be linked: a page shows a code, and its user types it on the phone. */
export function createLinks({ store, secret, clock }: { store: UssdStore; secret: Uint8Array; clock: Clock }) {
  const { cipher } = store;
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'palaver ussd link codes', 32));
  const hash = (kind: 'code' | 'did' | 'invocation', text: string) =>
    createHmac('sha256', key).update(`${kind} ${text}`).digest('base64url');

  async function findRow(db: Kysely<UssdTables>, code: string): Promise<Wallet | undefined> {
    const query = db.selectFrom('ussd_link').selectAll().where('id', '=', hash('code', code));
    const row = await query.where('expires_at', '>', clock.now()).executeTakeFirst();
    const opened = row && cipher.openRow(sealedTables.link, row, { did: unreadableText, address: unreadableText });
    return opened && opened.address !== unreadableText ? { did: opened.did, address: opened.address } : undefined;
  }

  return {
    /** A new code takes the place of an earlier one of the same DID. */
    async open({ did, address }: Wallet) {
      const code = String(randomInt(10 ** digits)).padStart(digits, '0');
      const owner = hash('did', did);
      const expiresAt = clock.now() + lifetimeMs;
      const plain = { id: hash('code', code), owner, did, address, expires_at: expiresAt };
      const row = cipher.sealRow(sealedTables.link, plain);
      // One statement: two tabs may ask at once.
      await store.db
        .insertInto('ussd_link')
        .values(row)
        .onConflict((conflict) => conflict.column('owner').doUpdateSet(row))
        .execute();
      return { code, expiresAt };
    },
    /** `false` if the invocation was used before. `expiration` in Unix seconds. */
    async useInvocation({ cid, expiration }: { cid: string; expiration: number }) {
      // A row that no code finds, kept for longer than the invocation is good.
      const id = hash('invocation', cid);
      const row = { id, owner: id, did: '', address: '', expires_at: expiration * 1_000 + lifetimeMs };
      return insertOnce(store.db, 'ussd_link', cipher.sealRow(sealedTables.link, row));
    },
    find: (code: string) => findRow(store.db, code),
    async take(trx: Trx, code: string) {
      const wallet = await findRow(trx, code);
      const removal = trx.deleteFrom('ussd_link').where('id', '=', hash('code', code));
      return (await removal.executeTakeFirst()).numDeletedRows > 0n ? wallet : undefined;
    },
  };
}

export type Links = ReturnType<typeof createLinks>;

export async function createLinking(secret: Uint8Array, access: GatewayAccess | undefined) {
  const audience: string = (await deriveSigner({ secret, label: 'ussd gateway' })).did();
  const resolveDid = createDidResolver(
    access
      ? { gatewayUrl: access.url, gatewayPrefix: access.prefix ?? '/ixo', gatewayHeaders: toAccessHeaders(access) }
      : {},
  );
  const gateway = access && createGatewayClient(access);
  return {
    audience,
    verifier: createVerifier({ audiences: [audience], resolveDid }),
    findAddress: (did: string, given: string | undefined) => findAddress(gateway, did, given),
  };
}
