// The types that a Cosmos SDK node packs into `Any`s, from its interface registry.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Caller } from '../upstream/connection.ts';
import { inParallel } from './load-reflection.ts';
import { readFields } from './read-fields.ts';

const service = '/cosmos.base.reflection.v1beta1.ReflectionService';
const timeoutMs = 10_000;

/** Names of all implementations of all interfaces; empty when the node does not list them. */
export async function listAnyTypes(node: Caller): Promise<string[]> {
  const ask = async (method: string, body: Uint8Array): Promise<string[]> => {
    const answer = await node.call({ path: `${service}/${method}`, body, metadata: {}, timeoutMs });
    if (!answer.ok) return [];
    return readFields(answer.message).flatMap(({ no, bytes }) => (no === 1 ? bytes.toString('utf8') : []));
  };
  const types = new Set<string>();
  await inParallel(await ask('ListAllInterfaces', new Uint8Array()), async (name) => {
    const body = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name).finish();
    for (const typeUrl of await ask('ListImplementations', body)) types.add(typeUrl.replace(/^.*\//, ''));
  });
  return [...types];
}
