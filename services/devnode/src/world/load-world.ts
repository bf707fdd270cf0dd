import type { FileRegistry } from '@bufbuild/protobuf';
import { StartError } from '@palaver/service-kit';
import { type AgentProfile, parseAgent, toAgentSeed } from './agent-profile.ts';
import { readSeed } from './read-seed.ts';
import { createSeedParser } from './seed-parser.ts';
import { createTable, type Table } from './table.ts';
import {
  type AgentDeposit,
  type Balance,
  type Claim,
  type Coin,
  type Collection,
  type Dispute,
  type Entity,
  type IidDocument,
  type Intent,
  type MemberBudget,
  type SendGrant,
  type Token,
  type TokenProperties,
  toIntentKey,
  toSubjectKey,
  type World,
} from './world.ts';

export interface WorldOptions {
  protocol: FileRegistry;
  /** A folder with other seed files. */
  seed?: string | undefined;
  /** What is known of the agent beside this node; it goes before `agent.json`. */
  agent?: Partial<AgentProfile> | undefined;
}

const shownFaults = 20;

/** Reads and checks the seed. All faults are in one error, with file and field. */
export async function loadWorld({ protocol, seed, agent = {} }: WorldOptions): Promise<World> {
  const faults: string[] = [];
  const files = await readSeed(seed, faults);
  const { parse, parseList, parseParams } = createSeedParser({ protocol, files, faults });

  const entityType = 'ixo.entity.v1beta1.Entity';
  const documentType = 'ixo.iid.v1beta1.IidDocument';
  const toId = (item: { id: string }) => item.id;
  const entities = parseList<Entity>('entities.json', entityType, toId);
  const documents = parseList<IidDocument>('iid-documents.json', documentType, toId);
  const profile = parseAgent(files['agent.json'], agent, faults);
  if (profile) {
    // Put last: the running agent replaces an entity of its DID that the seed happens to hold.
    const own = toAgentSeed(profile);
    entities.push(...parse<Entity>('agent.json', entityType, own.entity));
    documents.push(...own.documents.flatMap((json) => parse<IidDocument>('agent.json', documentType, json)));
  }
  const tokens = parseList<Token>('tokens.json', 'ixo.token.v1beta1.Token', (token) => token.name);
  const tokenProperties = parseList<TokenProperties>(
    'token-properties.json',
    'ixo.token.v1beta1.TokenProperties',
    toId,
  );
  const disputes = parseList<Dispute>('disputes.json', 'ixo.claims.v1beta1.Dispute', toProof);
  const toMember = ({ memberAddress }: MemberBudget) => memberAddress;
  const budgets = parseList<MemberBudget>('member-budgets.json', 'ixo.claims.v1beta1.MemberBudget', (budget) =>
    toCollectionKey(budget, toMember(budget)),
  );
  const toAgent = ({ agentAddress }: AgentDeposit) => agentAddress;
  const deposits = parseList<AgentDeposit>('agent-deposits.json', 'ixo.claims.v1beta1.AgentDepositBalance', (deposit) =>
    toCollectionKey(deposit, toAgent(deposit)),
  );
  const balances = parseList<Balance>('balances.json', 'cosmos.bank.v1beta1.Balance', (balance) => balance.address);

  const world: World = {
    params: { entity: parseParams('entity'), claims: parseParams('claims'), token: parseParams('token') },
    entities: createTable(entities, toId),
    iidDocuments: createTable(documents, toId),
    collections: createTable(parseList<Collection>('collections.json', 'ixo.claims.v1beta1.Collection', toId), toId),
    claims: createTable(parseList<Claim>('claims.json', 'ixo.claims.v1beta1.Claim', toClaimId), toClaimId),
    disputes: createTable(disputes, toProof),
    disputesBySubject: new Map(disputes.map((dispute) => [toSubjectKey(dispute), dispute])),
    budgetsByCollection: byCollection(budgets, toMember),
    depositsByCollection: byCollection(deposits, toAgent),
    intents: createTable(parseList<Intent>('intents.json', 'ixo.claims.v1beta1.Intent', toIntentKey), toIntentKey),
    tokensByMinter: new Map(
      [...Map.groupBy(tokens, (token) => token.minter)].map(([minter, minted]) => [
        minter,
        createTable(minted, (token) => token.contractAddress),
      ]),
    ),
    tokensByName: new Map(tokens.map((token) => [token.name, token])),
    tokenProperties: createTable(tokenProperties, toId),
    sendGrants: createTable<SendGrant>([], () => ''),
    coinsByAddress: new Map(
      balances.map(({ address, coins }) => [address, createTable(coins, (coin: Coin) => coin.denom)]),
    ),
  };
  if (faults.length === 0) faults.push(...findLooseEnds(world));
  if (faults.length > 0) throw new StartError(toMessage(seed, faults));
  return world;
}

const toClaimId = (claim: Claim) => claim.claimId;
const toProof = (dispute: Dispute) => dispute.data?.proof ?? '';

const toCollectionKey = ({ collectionId }: { collectionId: string }, address: string) =>
  collectionId && address && `${collectionId}/${address}`;

function byCollection<T extends { collectionId: string }>(items: T[], toKey: (item: T) => string) {
  const groups = Map.groupBy(items, ({ collectionId }) => collectionId);
  return new Map([...groups].map(([id, group]): [string, Table<T>] => [id, createTable(group, toKey)]));
}

/** What a query needs together must be there together. */
function findLooseEnds(world: World): string[] {
  return [
    ...world.entities.rows
      .filter(({ value }) => !world.iidDocuments.get(value.id))
      .map(({ value }) => `entities.json: ${value.id} has no document in iid-documents.json`),
    ...world.tokenProperties.rows
      .filter(({ value }) => !world.tokensByName.has(value.name))
      .map(({ value }) => `token-properties.json: ${value.id} names ${value.name}, which is not in tokens.json`),
  ];
}

function toMessage(seed: string | undefined, faults: string[]): string {
  const lines = faults.slice(0, shownFaults).map((fault) => `  ${fault}`);
  if (faults.length > shownFaults) lines.push(`  and ${faults.length - shownFaults} more`);
  return `The seed${seed === undefined ? '' : ` in ${seed}`} is not valid:\n${lines.join('\n')}`;
}
