import { createHash } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { z } from 'zod';

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

/** The agent that runs beside the node, as the protocol sees it. */
export type AgentProfile = z.infer<typeof agentProfileSchema>;

/** The profile in `agent.json` with what is known better. Faults are gathered in `faults`. */
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
