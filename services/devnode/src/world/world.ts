import type { Message } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { ChangingTable, Table } from './table.ts';

// Messages are described at run time. These types name only the fields that queries look at; the rest passes through.
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

/** What a grantee may still send of the granter's coins. */
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
  /** By granter and grantee. */
  sendGrants: ChangingTable<SendGrant>;
}

export function toSubjectKey({ subjectId, targetRole }: Pick<Dispute, 'subjectId' | 'targetRole'>): string {
  return `${subjectId}/${targetRole}`;
}

export function toIntentKey(intent: Pick<Intent, 'agentAddress' | 'collectionId' | 'id'>): string {
  return `${intent.agentAddress}/${intent.collectionId}/${intent.id}`;
}
