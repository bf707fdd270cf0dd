import {
  create,
  createFileRegistry,
  type DescField,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  fromJson,
  getOption,
  type JsonObject,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { createLogger } from '@palaver/service-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { getMessage } from '../src/protocol.ts';
import { createNodeClient } from './node-client.ts';
import { startTestNode, type TestNode } from './start-test-node.ts';

let node: TestNode;
let client: Awaited<ReturnType<typeof createNodeClient>>;

beforeAll(async () => {
  node = await startTestNode({ logger: createLogger({ name: 'devnode', level: 'silent' }) });
  client = await createNodeClient(node.address);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await node.close();
});

const services = [
  'cosmos.auth.v1beta1.Query',
  'cosmos.bank.v1beta1.Query',
  'cosmos.base.tendermint.v1beta1.Service',
  'cosmos.tx.v1beta1.Service',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  'ixo.claims.v1beta1.Query',
  'ixo.entity.v1beta1.Query',
  'ixo.iid.v1beta1.Query',
  'ixo.token.v1beta1.Query',
];

const routes = {
  'cosmos.bank.v1beta1.Query': [
    '/cosmos/bank/v1beta1/balances/{address}/by_denom',
    '/cosmos/bank/v1beta1/balances/{address}',
    '/cosmos/bank/v1beta1/supply',
  ],
  'cosmos.base.tendermint.v1beta1.Service': [
    '/cosmos/base/tendermint/v1beta1/node_info',
    '/cosmos/base/tendermint/v1beta1/syncing',
    '/cosmos/base/tendermint/v1beta1/blocks/latest',
    '/cosmos/base/tendermint/v1beta1/blocks/{height}',
  ],
  'ixo.claims.v1beta1.Query': [
    '/ixo/claims/params',
    '/ixo/claims/collection/{id}',
    '/ixo/claims/collections',
    '/ixo/claims/claim/{id}',
    '/ixo/claims/claims',
    '/ixo/claims/dispute/{proof}',
    '/ixo/claims/disputes',
    '/ixo/claims/intent/{agentAddress}/{collectionId}/{id}',
    '/ixo/claims/intents',
    '/ixo/claims/collection/{collectionId}/member/{memberAddress}',
    '/ixo/claims/collection/{collectionId}/members',
    '/ixo/claims/dispute-by-subject/{subjectId}/{targetRole}',
    '/ixo/claims/disputes-for-subject/{subjectId}',
    '/ixo/claims/collection/{collectionId}/deposit/{agentAddress}',
    '/ixo/claims/collection/{collectionId}/deposits',
  ],
  'ixo.entity.v1beta1.Query': [
    '/ixo/entity/params',
    '/ixo/entity/{id}',
    '/ixo/entity/{id}/metadata',
    '/ixo/entity/{id}/iiddocument',
    '/ixo/entity/{id}/verified',
    '/ixo/entity',
  ],
  'ixo.iid.v1beta1.Query': ['/ixo/did/dids', '/ixo/did/dids/{id}'],
  'ixo.token.v1beta1.Query': [
    '/ixo/token/params',
    '/ixo/token/metadata/{id}',
    '/ixo/token/minter/{minter}',
    '/ixo/token/minter/{minter}/{contract_address}',
  ],
};

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  /** Asks everything on one stream and gives the answers in order. */
  async function ask(...questions: JsonObject[]): Promise<JsonObject[]> {
    const input = getMessage(client.protocol, `grpc.reflection.${version}.ServerReflectionRequest`);
    const output = getMessage(client.protocol, `grpc.reflection.${version}.ServerReflectionResponse`);
    const stream = client.client.makeBidiStreamRequest(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (question: JsonObject) => Buffer.from(toBinary(input, fromJson(input, question))),
      (bytes: Buffer) => toJson(output, fromBinary(output, bytes), { useProtoFieldName: true }) as JsonObject,
    );
    for (const question of questions) stream.write(question);
    stream.end();
    return stream.toArray();
  }

  const toFiles = (answer: JsonObject | undefined): FileDescriptorProto[] => {
    const response = answer?.file_descriptor_response as { file_descriptor_proto?: string[] } | undefined;
    const files = response?.file_descriptor_proto ?? [];
    return files.map((bytes) => fromBinary(FileDescriptorProtoSchema, Buffer.from(bytes, 'base64')));
  };

  /** What a gateway does: fetch the file of each service and put all of them together, imports first. */
  async function fetchProtocol(): Promise<FileRegistry> {
    const answers = await ask(...services.map((file_containing_symbol) => ({ file_containing_symbol })));
    const files = new Map(answers.flatMap(toFiles).map((file) => [file.name, file]));
    const sorted = new Set<FileDescriptorProto>();
    const visit = (name: string) => {
      const file = files.get(name);
      if (!file) throw new Error(`${name} did not come`);
      for (const imported of file.dependency) visit(imported);
      sorted.add(file);
    };
    for (const name of files.keys()) visit(name);
    return createFileRegistry(create(FileDescriptorSetSchema, { file: [...sorted] }));
  }

  test('lists every service in alphabetical order and repeats the question', async () => {
    const [answer] = await ask({ host: 'here', list_services: '' });
    expect(answer).toEqual({
      valid_host: 'here',
      original_request: { host: 'here', list_services: '' },
      list_services_response: { service: services.map((name) => ({ name })) },
    });
  });

  test('a symbol, its parts and its file name lead to the same file', async () => {
    const symbols = [
      'ixo.claims.v1beta1.Claim',
      'ixo.claims.v1beta1.Claim.claim_id',
      'ixo.claims.v1beta1.CollectionState',
      'ixo.claims.v1beta1.PAUSED',
    ];
    for (const file_containing_symbol of symbols) {
      const [answer] = await ask({ file_containing_symbol });
      expect(toFiles(answer)[0]?.name, file_containing_symbol).toBe('ixo/claims/v1beta1/claims.proto');
    }
    const [method] = await ask({ file_containing_symbol: 'ixo.entity.v1beta1.Query.EntityList' });
    expect(toFiles(method)[0]?.name).toBe('ixo/entity/v1beta1/query.proto');
    const [oneof] = await ask({ file_containing_symbol: 'ixo.iid.v1beta1.VerificationMethod.verificationMaterial' });
    expect(toFiles(oneof)[0]?.name).toBe('ixo/iid/v1beta1/types.proto');
    const [byName] = await ask({ file_by_filename: 'gogoproto/gogo.proto' });
    expect(toFiles(byName).map(({ name }) => name)).toEqual([
      'gogoproto/gogo.proto',
      'google/protobuf/descriptor.proto',
    ]);
  });

  test('a file comes with all it needs, and no file comes twice on a stream', async () => {
    const answers = await ask(
      { file_containing_symbol: 'ixo.entity.v1beta1.Query' },
      { file_containing_symbol: 'ixo.iid.v1beta1.Query' },
    );
    const [first = [], second = []] = answers.map((answer) => toFiles(answer).map(({ name }) => name));
    expect(first).toContain('ixo/iid/v1beta1/types.proto');
    expect(first).toContain('google/api/annotations.proto');
    expect(second).toEqual(['ixo/iid/v1beta1/query.proto']);
  });

  test('what is unknown is an error in the answer, and the stream continues', async () => {
    const answers = await ask(
      { file_containing_symbol: 'ixo.no.Such' },
      { file_by_filename: 'no/such.proto' },
      { file_containing_extension: { containing_type: 'google.protobuf.FieldOptions', extension_number: 1 } },
      { all_extension_numbers_of_type: 'ixo.no.Such' },
      {},
      { list_services: '' },
    );
    const errors = answers.map(({ error_response: error }) => (error as JsonObject | undefined)?.error_code);
    const { NOT_FOUND, INVALID_ARGUMENT } = status;
    expect(errors).toEqual([NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, INVALID_ARGUMENT, undefined]);
    expect(answers[0]?.error_response).toMatchObject({ error_message: 'not found: ixo.no.Such' });
  });

  test('extensions are found by number', async () => {
    const [file, numbers] = await ask(
      { file_containing_extension: { containing_type: 'google.protobuf.MethodOptions', extension_number: 72295728 } },
      { all_extension_numbers_of_type: 'google.protobuf.FieldOptions' },
    );
    expect(toFiles(file)[0]?.name).toBe('google/api/annotations.proto');
    expect(numbers?.all_extension_numbers_response).toEqual({
      base_type_name: 'google.protobuf.FieldOptions',
      extension_number: [65001, 65003, 65004, 65005, 65010, 65011, 65013, 93002],
    });
  });

  test('options are all there: routes, nullability, custom types', async () => {
    const protocol = await fetchProtocol();
    const extension = (name: string) => protocol.getExtension(name) as never;
    const route = (method: DescMethod) =>
      (getOption(method as never, extension('google.api.http')) as { pattern: { value: string } }).pattern.value;
    const found = Object.keys(routes).map((name) => [name, protocol.getService(name)?.methods.map(route)]);
    expect(Object.fromEntries(found)).toEqual(routes);

    const field = (type: string, name: string): DescField => {
      const found = getMessage(protocol, type).fields.find((candidate) => candidate.name === name);
      if (!found) throw new Error(`${type} has no ${name}`);
      return found;
    };
    const option = (type: string, name: string, option: string) =>
      getOption(field(type, name) as never, extension(`gogoproto.${option}`));
    expect(option('ixo.entity.v1beta1.QueryEntityResponse', 'iidDocument', 'nullable')).toBe(false);
    expect(option('ixo.claims.v1beta1.Params', 'node_fee_percentage', 'customtype')).toBe(
      'cosmossdk.io/math.LegacyDec',
    );
    expect(option('cosmos.base.v1beta1.Coin', 'amount', 'customtype')).toBe('cosmossdk.io/math.Int');
    expect(option('ixo.entity.v1beta1.Entity', 'start_date', 'stdtime')).toBe(true);
    expect(option('ixo.claims.v1beta1.Payment', 'timeout_ns', 'stdduration')).toBe(true);
  });
});
