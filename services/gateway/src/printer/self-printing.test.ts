// What the reference prints for types of the Cosmos SDK, wasmd and ibc-go that print themselves; docs/gateway.md says how
// the data was made.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadGolden } from '../../test/fixture-schema.ts';
import { createSchema, parseDescriptorSet } from '../descriptors/schema.ts';
import { createEncoder } from '../encode-response.ts';

const { registry } = createSchema(
  parseDescriptorSet(readFileSync(new URL('../../test/cosmos.binpb', import.meta.url))),
);
const encoder = createEncoder(registry);

interface Golden {
  note: string;
  type: string;
  wire: string;
  json?: string;
  error?: string;
}

test.each(loadGolden<Golden>('cosmos'))('$type, $note: as the reference prints it', ({ type, wire, json }) => {
  const message = registry.getMessage(type);
  const encoded = message && encoder.encode(message, Buffer.from(wire, 'hex'));
  if (json === undefined) expect(encoded?.ok).toBe(false);
  else expect(encoded).toEqual({ ok: true, json });
});
