import { Readable } from 'node:stream';
import { AppError } from '@palaver/contract';
import { CloseStack, createLogger, type Env, loadConfig } from '@palaver/service-kit';
import { createRecentKeys, toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { type AuditActor, type AuditLog, openStore, type PersonalRows, type Store } from '@palaver/store';
import {
  createAuditLog,
  encryptTables,
  keepAuditHead,
  openCipher,
  registerSealed,
  toAnchorPath,
} from '@palaver/store/internal';
import { loadSigner } from './app/create-identity.ts';
import { createOpenPlaces } from './auth/open-connections.ts';
import { deriveKey } from './auth/seal.ts';
import type { Erasures } from './cluster/erasures.ts';
import { agentConfigSchema } from './config.ts';
import type { OraclePlugin } from './define/plugin.ts';
import type { Reading } from './store/messages.ts';
import { migrateAgent } from './store/migrate.ts';
import { agentPersonalData, toAgentPerson } from './store/personal-data.ts';
import type { AgentDatabase } from './store/schema.ts';

interface UserDataParts {
  store: Pick<Store<AgentDatabase>, 'db' | 'transaction' | 'cipher'>;
  audit: AuditLog<AgentDatabase>;
  agentDid: string;
  plugins: readonly OraclePlugin[];
  /** Ends what runs for a session that is about to be removed. */
  dropSession?(sessionId: string): void;
  erasures?: Pick<Erasures, 'during'>;
}

type AskedBy = { actor: AuditActor; from: string | null };

export type UserData = ReturnType<typeof createUserData>;

/** Each keeps a few rows and the keys of the user's rows in memory, as long as its reader takes. */
const exportsAtOnce = { all: 20, perUser: 1, perClient: 2 };
const operatorExportsAtOnce = { all: 5, perUser: 5, perClient: 5 };
/** What a reader takes at least, so that nobody holds an export for ever. */
const leastCharacters = 64 * 1024;
const leastPerMs = 60_000;
const pieceCharacters = 16 * 1024;
/** Text is made no faster than it is taken. */
const onePiece = { highWaterMark: 1 };

interface ExportReader {
  client: string | undefined;
  /** Operators read beside the users. */
  isOperator?: boolean;
  reading: Reading;
}

export function createUserData({ store, audit, agentDid, plugins, dropSession, erasures }: UserDataParts) {
  const parts = [...plugins.flatMap(({ personalData }) => personalData ?? []), agentPersonalData];
  const sealedTables = parts.flatMap(({ sealed = [] }) => sealed);
  const exported = createRecentKeys();
  const takePlace = createOpenPlaces(exportsAtOnce);
  const takeOperatorPlace = createOpenPlaces(operatorExportsAtOnce);
  const toPerson = (did: string) => toAgentPerson(did, agentDid, audit.person(did));

  async function recordExport(did: string, by: AskedBy): Promise<void> {
    const subject = audit.person(did);
    const key = [by.actor, by.from, subject].join(' ');
    if (exported.has(key)) return;
    await audit.record({ ...by, action: 'data.exported', subject });
    exported.add(key);
  }

  async function* readParts(did: string): AsyncGenerator<PersonalRows> {
    for (const part of parts) {
      if (part.read) yield* part.read(store.db, toPerson(did), store.cipher);
      else {
        const found = await part.collect(store.db, toPerson(did), store.cipher);
        for (const [table, rows] of Object.entries(found)) yield { table, rows };
      }
    }
  }

  return {
    /** Everything kept of a user as the text of a JSON object, no faster than it is taken; a command has no `reader`. */
    async export(did: string, by: AskedBy, reader?: ExportReader): Promise<Readable> {
      if (!reader) {
        await recordExport(did, by);
        return Readable.from(toJson(did, readParts(did)), onePiece);
      }
      const leave = reader.isOperator
        ? takeOperatorPlace({ userDid: did })
        : takePlace({ userDid: did, client: reader.client });
      if (!leave) throw new AppError('RATE_LIMITED', 'Another export is being read. Please try again in a moment.');
      await recordExport(did, by).catch((error) => {
        leave();
        throw error;
      });
      const parts = readInPlaces(readParts(did), reader.reading);
      const paced = atLeastPace(toJson(did, parts), () => stream.destroy());
      const stream: Readable = Readable.from(paced, onePiece);
      return stream.once('close', leave);
    },

    /** Notes the encrypted columns of all plugins, so that `palaver keys rotate` finds those of authors' plugins too. */
    registerSealed: () => registerSealed(store, sealedTables),

    /** Encrypts what is not encrypted with the current key, while the agent runs; gives the number of rows changed. */
    async encrypt(by: AskedBy): Promise<number> {
      const rows = await encryptTables(store, sealedTables);
      await audit.record({ ...by, action: 'keys.rotated', details: { rows } });
      return rows;
    },

    async erase(did: string, by: AskedBy): Promise<void> {
      const list = (db: Pick<typeof store.db, 'selectFrom'>) =>
        db.selectFrom('agent_session').select('id').where('user_did', '=', did).execute();
      for (const { id } of await list(store.db)) dropSession?.(id);
      const erase = () =>
        store.transaction(async (trx) => {
          const sessions = await list(trx);
          for (const part of parts) await part.erase(trx, toPerson(did));
          await audit.record({ ...by, action: 'data.erased', subject: audit.person(did) }, trx);
          return sessions;
        });
      const erased = await (erasures ? erasures.during(did, erase) : erase());
      // Again: sockets may have been admitted in the meantime.
      for (const { id } of erased) dropSession?.(id);
    },
  };
}

/** Each part is read as work that costs much. */
async function* readInPlaces<T>(parts: AsyncGenerator<T>, reading: Reading): AsyncGenerator<T> {
  while (true) {
    const { done, value } = await reading(Number.POSITIVE_INFINITY, () => parts.next());
    if (done) return;
    yield value;
  }
}

/** Gives text in small pieces; gives up where the reader takes too few of them. */
export async function* atLeastPace(texts: AsyncIterable<string>, giveUp: () => void): AsyncGenerator<string> {
  let waitedMs = 0;
  let taken = 0;
  for await (const text of texts) {
    for (let at = 0; at < text.length; at += pieceCharacters) {
      const since = Date.now();
      const timer = setTimeout(giveUp, leastPerMs - waitedMs);
      try {
        yield text.slice(at, at + pieceCharacters);
      } finally {
        clearTimeout(timer);
      }
      waitedMs += Date.now() - since;
      taken += pieceCharacters;
      if (taken >= leastCharacters) [waitedMs, taken] = [0, 0];
    }
  }
}

async function* toJson(did: string, parts: AsyncIterable<PersonalRows>): AsyncGenerator<string> {
  yield `{"did":${JSON.stringify(did)},"exportedAt":${JSON.stringify(new Date().toISOString())},"data":{`;
  let current: string | undefined;
  let isFirst = true;
  for await (const { table, rows } of parts) {
    if (table !== current) yield `${current === undefined ? '' : '],'}${JSON.stringify(table)}:[`;
    isFirst = isFirst || table !== current;
    current = table;
    for (const row of rows) {
      yield `${isFirst ? '' : ','}${JSON.stringify(row)}`;
      isFirst = false;
    }
  }
  yield current === undefined ? '}}' : ']}}';
}

/** Opens the agent's database for `palaver user`, with the tables of the plugins. */
export async function withUserData<T>(env: Env, plugins: readonly OraclePlugin[], use: (data: UserData) => Promise<T>) {
  const config = loadConfig(agentConfigSchema, env);
  const logger = createLogger({ name: 'palaver', level: 'error' });
  const signer = await loadSigner(config, logger);
  await migrateAgent(env, plugins);
  await using opened = new CloseStack();
  const store = await openStore<AgentDatabase>(toDatabaseUrl(config, 'agent'), toStoreOptions(config));
  opened.defer(() => store.close());
  await openCipher(store);
  const audit = createAuditLog(store, {
    service: 'agent',
    referenceKey: deriveKey(signer.toSecret(), 'audit person'),
    ...keepAuditHead(toAnchorPath(config.DATA_DIR, 'agent'), logger),
  });
  opened.defer(() => audit.close());
  const agentDid = config.ORACLE_ENTITY_DID ?? config.ORACLE_DID ?? signer.did();
  return await use(createUserData({ store, audit, agentDid, plugins }));
}
