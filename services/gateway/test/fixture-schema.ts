import { readFileSync } from 'node:fs';
import type { DescMessage } from '@bufbuild/protobuf';
import { createSchema, parseDescriptorSet, type Schema } from '../src/descriptors/schema.ts';

/** The fixture's descriptors as `buf build` compiled them. */
export function loadFixtureSchema(): Schema {
  return createSchema(parseDescriptorSet(readFileSync(new URL('fixture.binpb', import.meta.url))));
}

export function fixtureType({ registry }: Schema, name: string): DescMessage {
  const type = registry.getMessage(name.includes('.') ? name : `fixture.v1.${name}`);
  if (!type) throw new Error(`no message ${name}`);
  return type;
}

/** Answers of the reference, kept as data; `docs/gateway.md` says how they were made. */
export function loadGolden<T>(name: string): T[] {
  return JSON.parse(readFileSync(new URL(`golden-${name}.json`, import.meta.url), 'utf8'));
}
