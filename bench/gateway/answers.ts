// The bytes the node answers with, the same for every front.
import { fileURLToPath } from 'node:url';
import { type DescMessage, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf';
import { loadProtoFolder } from '../../services/gateway/src/descriptors/parse-proto-files.ts';
import { createSchema } from '../../services/gateway/src/descriptors/schema.ts';
import { createEncoder } from '../../services/gateway/src/encode-response.ts';

export const protoFolder = fileURLToPath(new URL('protos', import.meta.url));

/** Paths of the three answers; a number in place of `{n}` makes of one request another. */
export const targets = {
  params: '/ixo/token/params?height={n}',
  entity: '/ixo/entity/did:ixo:entity:eaff254f2fc62aefca0d831bc736{n}',
  list: '/ixo/entities?pagination.offset={n}',
} as const;

export type TargetName = keyof typeof targets;

const did = (index: number) => `did:ixo:entity:${String(index).padStart(4, '0')}4f2fc62aefca0d831bc7361c14`;
const time = '2024-03-01T12:00:00.123Z';

function entity(index: number): JsonValue {
  return {
    id: did(index),
    type: 'asset/device',
    startDate: time,
    endDate: '2034-03-01T12:00:00Z',
    relayerNode: did(1),
    credentials: ['https://example.org/credentials/1'],
    entityVerified: true,
    metadata: { versionId: 'b8d6a4a3b52a8fb7e4d2b7c0', created: time, updated: time },
    accounts: [{ name: 'admin', address: 'ixo1kqmtxkggcqa9u34lnr6shy0euvclgatw4f9zz5' }],
  };
}

const document = {
  controller: [did(1)],
  service: [1, 2, 3].map((index) => ({
    id: `{id}#service-${index}`,
    type: 'LinkedDomains',
    serviceEndpoint: `https://service-${index}.example.org/v1`,
  })),
  verificationMethod: [1, 2].map((index) => ({
    id: `${did(1)}#key-${index}`,
    type: 'Ed25519VerificationKey2020',
    controller: did(1),
    publicKeyMultibase: 'z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
  })),
  authentication: [`${did(1)}#key-1`],
};

export async function loadAnswers() {
  const { registry } = createSchema(await loadProtoFolder(protoFolder));
  const encode = (name: string, json: JsonValue) => {
    const type = registry.getMessage(`palaver.bench.${name}`) as DescMessage;
    return { type, bytes: toBinary(type, fromJson(type, json)) };
  };
  const entities = Array.from({ length: 18 }, (_, index) => entity(index));
  const answers = {
    params: encode('ParamsAnswer', { params: { ixo1155ContractCode: '25' } }),
    entity: encode('EntityAnswer', { entity: entity(7), document }),
    list: encode('EntitiesAnswer', { entities, pagination: { total: '18' } }),
  };
  const encoder = createEncoder(registry);
  const print = (name: TargetName): Buffer => {
    const encoded = encoder.encode(answers[name].type, answers[name].bytes);
    // The text is in pieces until it is written somewhere.
    return Buffer.from(encoded.ok ? encoded.json : '');
  };
  return { answers, print };
}

/** Processor time of turning an answer's bytes into those of its JSON, in microseconds. */
export async function measurePrinting(): Promise<Record<TargetName, number>> {
  const { print } = await loadAnswers();
  const measure = (name: TargetName) => {
    const repeat = () => {
      for (let round = 0; round < 5_000; round += 1) print(name);
    };
    repeat();
    const before = process.cpuUsage();
    repeat();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 5_000;
  };
  return { params: measure('params'), entity: measure('entity'), list: measure('list') };
}
