// JSON bodies against the bytes that the reference makes of them; docs/gateway.md says how the data was made.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadGolden } from '../test/fixture-schema.ts';
import { decodeBody, listAnyTypes } from './decode-body.ts';
import { createSchema, parseDescriptorSet } from './descriptors/schema.ts';
import { createEncoder } from './encode-response.ts';

const { registry } = createSchema(parseDescriptorSet(readFileSync(new URL('../test/cosmos.binpb', import.meta.url))));
const encoder = createEncoder(registry);

interface Golden {
  note: string;
  type: string;
  json: string;
  wire?: string;
  error?: string;
}

test.each(loadGolden<Golden>('bodies'))('$note: as the reference reads it', ({ type, json, wire, error }) => {
  const message = registry.getMessage(type);
  if (!message) throw new Error(`no type ${type}`);
  const decoded = decodeBody(message, JSON.parse(json), registry);
  expect(decoded.ok).toBe(error === undefined);
  if (!decoded.ok) return;
  // The order of fields on the wire is free: what counts is that the reference's printer shows the same.
  const print = (bytes: Uint8Array) => encoder.encode(message, bytes);
  expect(print(decoded.bytes)).toEqual(print(Buffer.from(wire ?? '', 'hex')));
  expect(decoded.bytes.length).toBe((wire ?? '').length / 2);
});

test('what is not a decimal or a hash is refused', () => {
  const type = registry.getMessage('cosmos.staking.v1beta1.CommissionRates');
  if (!type) throw new Error('no type');
  expect(decodeBody(type, { rate: 'much' }, registry).ok).toBe(false);
  expect(decodeBody(type, { rate: '1e5' }, registry).ok).toBe(false);
  expect(decodeBody(type, 'text', registry).ok).toBe(false);
  expect(decodeBody(type, null, registry).ok).toBe(false);
});

test('the types of a body are found at any depth', () => {
  expect(listAnyTypes({ tx: { a: [{ '@type': '/x.Y' }, { b: { '@type': 'type.url/x.Z' } }] } })).toEqual([
    'x.Y',
    'x.Z',
  ]);
});
