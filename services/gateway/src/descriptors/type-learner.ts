// `Any` types that no service file declares. Each is requested once, for all clients, and added to the schema in use:
// nothing that is compiled or kept has to be made again.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Logger } from '@palaver/service-kit';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../upstream/connection.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { inParallel, loadSymbol } from './load-reflection.ts';
import { readFields } from './read-fields.ts';
import { addFiles, type Schema } from './schema.ts';

export interface TypeLearner {
  /** Resolves when each type is known to the schema, or known to be unknown. */
  learn(typeNames: string[]): Promise<void>;
  /** Learns all types that the nodes list, where they do. */
  learnListed(): Promise<void>;
}

export interface TypeLearnerOptions {
  schema: Schema;
  upstream: Upstream;
  logger: Logger;
}

/** A type that the nodes did not know is not asked for again within this time. */
const forgetMs = 60_000;
const maxUnknown = 1_000;

export function createTypeLearner({ schema, upstream, logger }: TypeLearnerOptions): TypeLearner {
  const running = new Map<string, Promise<void>>();
  const unknown = new LRUCache<string, true>({ max: maxUnknown, ttl: forgetMs });

  const ask = async (typeName: string) => {
    try {
      addFiles(schema, await loadSymbol(await upstream.pin(), typeName, (name) => schema.files.has(name)));
    } catch (error) {
      logger.warn({ err: error, type: typeName }, 'a type could not be loaded');
    }
    if (!schema.registry.getMessage(typeName)) unknown.set(typeName, true);
  };

  const learnOne = (typeName: string): Promise<void> | undefined => {
    if (schema.registry.getMessage(typeName) || unknown.has(typeName)) return undefined;
    const known = running.get(typeName);
    if (known) return known;
    const run = ask(typeName).finally(() => running.delete(typeName));
    running.set(typeName, run);
    return run;
  };

  return {
    async learnListed() {
      // A few at a time: a query with an unknown type does not wait for all the others.
      const names = await listAnyTypes(await upstream.pin());
      await inParallel(names, async (name) => learnOne(name));
      logger.info({ types: names.length }, 'types loaded');
    },
    async learn(typeNames) {
      await Promise.all(typeNames.map(learnOne));
    },
  };
}

const service = '/cosmos.base.reflection.v1beta1.ReflectionService';
const timeoutMs = 10_000;

/** The types that a Cosmos SDK node packs into `Any`s, from its interface registry: the implementations of all interfaces; empty when the node does not list them. */
async function listAnyTypes(node: Caller): Promise<string[]> {
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
