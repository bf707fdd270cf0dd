// What the reference prints for types of the Cosmos SDK, wasmd and ibc-go that print themselves; docs/gateway.md says how
// the data was made.
import { readFileSync } from 'node:fs';
import { create } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import { loadGolden } from '../../test/fixture-schema.ts';
import { parseProtoFiles } from '../descriptors/parse-proto-files.ts';
import {
  addFiles,
  createSchema,
  type DescriptorSource,
  parseDescriptorSet,
  type Schema,
} from '../descriptors/schema.ts';
import { createEncoder } from '../encode-response.ts';

function load(): DescriptorSource {
  return parseDescriptorSet(readFileSync(new URL('../../test/cosmos.binpb', import.meta.url)));
}

/** The Cosmos SDK with liquid staking, which ixo's chain runs, has one more field in a delegation. */
function loadFork(): DescriptorSource {
  const source = load();
  const messages = source.files.flatMap(({ messageType }) => messageType);
  const bond = { name: 'validator_bond', jsonName: 'validatorBond', number: 4, type: FieldDescriptorProto_Type.BOOL };
  const label = FieldDescriptorProto_Label.OPTIONAL;
  messages
    .find(({ name }) => name === 'Delegation')
    ?.field.push(create(FieldDescriptorProtoSchema, { ...bond, label }));
  return source;
}

const released = createSchema(load());
const fork = createSchema(loadFork());
const keys = 'syntax = "proto3"; package cosmos.crypto.secp256k1; message PubKey { bytes key = 1; }';
addFiles(fork, parseProtoFiles([{ name: 'keys.proto', text: keys }]));

function print({ registry }: Schema, type: string, wire: string) {
  const message = registry.getMessage(type);
  if (!message) throw new Error(`no message ${type}`);
  return createEncoder(registry).encode(message, Buffer.from(wire, 'hex'));
}

interface Golden {
  note: string;
  type: string;
  wire: string;
  json?: string;
  error?: string;
}

test.each(loadGolden<Golden>('cosmos'))('$type, $note: as the reference prints it', ({ type, wire, json }) => {
  const encoded = print(released, type, wire);
  if (json === undefined) expect(encoded.ok).toBe(false);
  else expect(encoded).toEqual({ ok: true, json });
});

interface Recorded {
  request: string;
  type: string;
  wire: string;
  json: string;
}

test.each(loadGolden<Recorded>('node'))('$request: as a real node answers', ({ type, wire, json }) => {
  expect(print(fork, type, wire)).toEqual({ ok: true, json });
});
