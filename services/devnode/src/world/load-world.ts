import { createHash } from 'node:crypto';
import type { FileRegistry, JsonObject } from '@bufbuild/protobuf';
import { StartError } from '@palaver/service-kit';
import { z } from 'zod';
import { createSeedParser, readSeed } from './seed.ts';
import {
  type AgentDeposit,
  type Balance,
  type Claim,
  type Coin,
  type Collection,
  createTable,
  type Dispute,
  type Entity,
  type IidDocument,
  type Intent,
  type MemberBudget,
  type SendGrant,
  type Table,
  type Token,
  type TokenProperties,
  toIntentKey,
  toSubjectKey,
  type World,
} from './world.ts';

interface WorldOptions {
  protocol: FileRegistry;
  seed?: string | undefined;
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
  const propertiesType = 'ixo.token.v1beta1.TokenProperties';
  const tokenProperties = parseList<TokenProperties>('token-properties.json', propertiesType, toId);
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
    budgetsByCollection: tablesBy(budgets, toCollectionId, toMember),
    depositsByCollection: tablesBy(deposits, toCollectionId, toAgent),
    intents: createTable(parseList<Intent>('intents.json', 'ixo.claims.v1beta1.Intent', toIntentKey), toIntentKey),
    tokensByMinter: tablesBy(tokens, toMinter, ({ contractAddress }) => contractAddress),
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

const toMinter = ({ minter }: Token) => minter;
const toCollectionId = ({ collectionId }: { collectionId: string }) => collectionId;
const toClaimId = (claim: Claim) => claim.claimId;
const toProof = (dispute: Dispute) => dispute.data?.proof ?? '';

const toCollectionKey = ({ collectionId }: { collectionId: string }, address: string) =>
  collectionId && address && `${collectionId}/${address}`;

function tablesBy<T>(items: T[], groupOf: (item: T) => string, keyOf: (item: T) => string): Map<string, Table<T>> {
  const groups = Map.groupBy(items, groupOf);
  return new Map([...groups].map(([id, group]) => [id, createTable(group, keyOf)]));
}

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

const did = z.string().regex(/^did:[a-z0-9]+:[\w.:%-]+$/, 'expected a DID');
const httpUrl = z.url({ protocol: /^(https?|wss?)$/, error: 'expected an http, https, ws or wss URL' });
const keyPrefix = 'did:key:';

const agentProfileSchema = z
  .strictObject({
    /** The DID of the agent's key. */
    did,
    /** The agent's entity on the protocol; without it the entity has the DID of the key. */
    entityDid: did.optional(),
    /** May be left out with a `did:key`, which is the key. */
    publicKeyMultibase: z
      .string()
      .regex(/^z[1-9A-HJ-NP-Za-km-z]+$/, 'expected a base58btc multibase key (z…)')
      .optional(),
    address: z.string().min(1),
    name: z.string().min(1).max(100),
    description: z.string().max(500),
    apiUrl: httpUrl,
    socketUrl: httpUrl,
    model: z.string().min(1),
    price: z.strictObject({ denom: z.string().min(1), amount: z.string().regex(/^\d+$/, 'expected decimal digits') }),
  })
  .refine((profile) => profile.publicKeyMultibase !== undefined || profile.did.startsWith(keyPrefix), {
    path: ['publicKeyMultibase'],
    error: 'needed, because did is not a did:key',
  });

export type AgentProfile = z.infer<typeof agentProfileSchema>;

export function parseAgent(json: unknown, changes: Partial<AgentProfile>, faults: string[]): AgentProfile | undefined {
  if (json === undefined) return undefined;
  const result = agentProfileSchema.safeParse(mergeProfiles(json, changes));
  if (result.success) return result.data;
  faults.push(...result.error.issues.map(({ path, message }) => `${['agent.json', ...path].join('.')}: ${message}`));
  return undefined;
}

/** A new DID has its own entity and key: those of the replaced profile belong to another agent. */
function mergeProfiles(json: unknown, changes: Partial<AgentProfile>): unknown {
  if (json === null || typeof json !== 'object') return json;
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const replaced = given.did === undefined ? {} : { entityDid: undefined, publicKeyMultibase: undefined };
  return { ...json, ...replaced, ...given };
}

const registered = '2024-01-01T00:00:00Z';
const context = [{ key: 'ixo', val: 'https://w3id.org/ixo/ns/protocol/' }];

/** The entity and the DID documents of the agent, as proto3 JSON like the seed files. */
export function toAgentSeed(profile: AgentProfile): { entity: JsonObject; documents: JsonObject[] } {
  const id = profile.entityDid ?? profile.did;
  const publicKeyMultibase = profile.publicKeyMultibase ?? profile.did.slice(keyPrefix.length);
  const config = JSON.stringify({ oracleName: profile.name, model: profile.model, price: profile.price });
  const versionId = createHash('sha256').update(JSON.stringify(profile)).digest('hex');
  const toDocument = (subject: string): JsonObject => {
    const key = `${subject}#key-1`;
    return {
      context,
      id: subject,
      controller: [profile.did],
      verificationMethod: [
        { id: key, type: 'Ed25519VerificationKey2020', controller: profile.did, publicKeyMultibase },
      ],
      authentication: [key],
      assertionMethod: [key],
      capabilityInvocation: [key],
      capabilityDelegation: [key],
      alsoKnownAs: profile.name,
      metadata: { versionId, created: registered, updated: registered },
    };
  };
  const entityDocument: JsonObject = {
    ...toDocument(id),
    service: [
      { id: `${id}#oracleService`, type: 'oracleService', serviceEndpoint: profile.apiUrl },
      { id: `${id}#wsService`, type: 'wsService', serviceEndpoint: profile.socketUrl },
    ],
    linkedResource: [
      {
        type: 'oracleConfig',
        id: `${id}#oracleConfig`,
        description: profile.description,
        mediaType: 'application/json',
        serviceEndpoint: `data:application/json,${encodeURIComponent(config)}`,
        proof: createHash('sha256').update(config).digest('hex'),
        encrypted: 'false',
      },
    ],
  };
  return {
    entity: {
      id,
      type: 'oracle',
      start_date: registered,
      status: 1,
      relayer_node: profile.did,
      metadata: { version_id: versionId, created: registered, updated: registered },
      accounts: [{ name: 'admin', address: profile.address }],
    },
    documents: id === profile.did ? [entityDocument] : [entityDocument, toDocument(profile.did)],
  };
}
