import type { Message } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';

// Messages are described at run time: these types name only the fields that queries read.
export type Entity = Message & { id: string; entityVerified: boolean };
export type IidDocument = Message & { id: string };
export type Payment = { account: string; amount: Coin[] };
export type Collection = Message & {
  id: string;
  admin: string;
  state: number;
  intents: number;
  startDate?: Timestamp;
  endDate?: Timestamp;
  quota: bigint;
  count: bigint;
  evaluated: bigint;
  approved: bigint;
  rejected: bigint;
  payments?: Partial<Record<'submission' | 'evaluation' | 'approval' | 'rejection', Payment>>;
};
export type Claim = Message & {
  claimId: string;
  collectionId: string;
  agentAddress: string;
  amount: Coin[];
  evaluation?: Message;
  paymentsStatus?: Record<'submission' | 'evaluation' | 'approval' | 'rejection', number>;
};
export type Dispute = Message & { subjectId: string; targetRole: number; data?: { proof: string } };
export type Intent = Message & { id: string; agentAddress: string; collectionId: string };
export type MemberBudget = Message & { collectionId: string; memberAddress: string };
export type AgentDeposit = Message & { collectionId: string; agentAddress: string };
export type Token = Message & {
  minter: string;
  contractAddress: string;
  class: string;
  name: string;
  description: string;
  image: string;
  cap: string;
};
export type TokenProperties = Message & {
  id: string;
  index: string;
  name: string;
  collection: string;
  tokenData: Message[];
};
export type Coin = Message & { denom: string; amount: string };
export type Balance = Message & { address: string; coins: Coin[] };

export interface SendGrant {
  limit: ReadonlyMap<string, bigint>;
  allowList: readonly string[];
  expiresAt: Date | undefined;
}

/** All data of the node. Transactions change claims, their collections, coins and grants. */
export interface World {
  params: { entity: Message; claims: Message; token: Message };
  entities: Table<Entity>;
  iidDocuments: Table<IidDocument>;
  collections: ChangingTable<Collection>;
  claims: ChangingTable<Claim>;
  disputes: Table<Dispute>;
  /** By `toSubjectKey`; the last one where there are several. */
  disputesBySubject: ReadonlyMap<string, Dispute>;
  intents: Table<Intent>;
  budgetsByCollection: ReadonlyMap<string, Table<MemberBudget>>;
  depositsByCollection: ReadonlyMap<string, Table<AgentDeposit>>;
  tokensByMinter: ReadonlyMap<string, Table<Token>>;
  tokensByName: ReadonlyMap<string, Token>;
  tokenProperties: Table<TokenProperties>;
  coinsByAddress: Map<string, ChangingTable<Coin>>;
  sendGrants: ChangingTable<SendGrant>;
}

export function toSubjectKey({ subjectId, targetRole }: Pick<Dispute, 'subjectId' | 'targetRole'>): string {
  return `${subjectId}/${targetRole}`;
}

export function toIntentKey(intent: Pick<Intent, 'agentAddress' | 'collectionId' | 'id'>): string {
  return `${intent.agentAddress}/${intent.collectionId}/${intent.id}`;
}

export interface Row<T> {
  key: Buffer;
  value: T;
}

/** Rows in the byte order of their keys, as in a chain's store. */
export interface Table<T> {
  rows: readonly Row<T>[];
  get(key: string): T | undefined;
}

export interface ChangingTable<T> extends Table<T> {
  /** Puts a value in place of the one with its key; `undefined` removes that. */
  set(key: string, value: T | undefined): void;
}

export function createTable<T>(values: Iterable<T>, keyOf: (value: T) => string): ChangingTable<T> {
  const byKey = new Map([...values].map((value) => [keyOf(value), value]));
  const rows = [...byKey].map(([key, value]) => ({ key: Buffer.from(key), value }));
  rows.sort((a, b) => Buffer.compare(a.key, b.key));
  return {
    rows,
    get: (key) => byKey.get(key),
    set(key, value) {
      const row = { key: Buffer.from(key), value: value as T };
      const index = findPlace(rows, row.key);
      rows.splice(index, byKey.has(key) ? 1 : 0, ...(value === undefined ? [] : [row]));
      if (value === undefined) byKey.delete(key);
      else byKey.set(key, value);
    },
  };
}

/** The index of the first row whose key is not below `key`. */
function findPlace(rows: readonly Row<unknown>[], key: Buffer): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare((rows[middle] as Row<unknown>).key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
