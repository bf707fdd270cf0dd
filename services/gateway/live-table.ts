// The routes as they are now. Descriptors are read at the start and again when a node comes back; the new table takes
// the place of the old in one assignment, requests under way keep the one they began with.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Logger } from '@palaver/service-kit';
import { loadProtoFolder } from './descriptors/load-proto-folder.ts';
import { loadReflection, loadSymbol } from './descriptors/load-reflection.ts';
import {
  createSchema,
  type DescriptorSource,
  extendSchema,
  parseDescriptorSet,
  type Schema,
} from './descriptors/schema.ts';
import { createEncoder, type Encoder } from './encode-response.ts';
import { createRouteTable, type Prefixes, type RouteTable } from './route-table.ts';
import type { Upstream } from './upstream.ts';

export interface Snapshot {
  /** Grows when the descriptors change; answers printed by another version are not comparable. */
  version: number;
  schema: Schema;
  table: RouteTable;
  encoder: Encoder;
}

export interface LiveTable {
  current(): Snapshot | undefined;
  /** Reads the descriptors again and swaps the table if they changed. Rejects when they cannot be read. */
  reload(): Promise<void>;
  /** Asks the node for an `Any` type that no service file declares; true when the table now knows it. */
  learn(typeName: string): Promise<boolean>;
}

export interface LiveTableOptions {
  /** A `FileDescriptorSet` file or a folder of `.proto` files; without it the node is asked. */
  descriptors: string | undefined;
  upstream: Upstream;
  prefixes: Prefixes;
  logger: Logger;
  onChange(snapshot: Snapshot): void;
}

/** Types that a node did not know are not asked for again within this time. */
const forgetMs = 60_000;

export function createLiveTable({ descriptors, upstream, prefixes, logger, onChange }: LiveTableOptions): LiveTable {
  let snapshot: Snapshot | undefined;
  let version = 0;
  let fingerprint = '';
  let reloading: Promise<void> | undefined;
  const unknownTypes = new Map<string, number>();

  const install = (schema: Schema) => {
    const table = createRouteTable(schema, prefixes);
    snapshot = { version, schema, table, encoder: createEncoder(schema.registry) };
    onChange(snapshot);
    return table;
  };

  const load = async () => {
    const source = await (descriptors ? loadFromDisk(descriptors) : loadReflection(upstream));
    const print = toFingerprint(source);
    if (print === fingerprint) return;
    const schema = createSchema(source);
    version += 1;
    const table = install(schema);
    fingerprint = print;
    unknownTypes.clear();
    logger.info({ routes: table.routes.length, services: source.services.length }, 'routes loaded');
    for (const fault of table.faults) logger.warn({ fault }, 'a route is not served');
  };

  return {
    current: () => snapshot,
    reload() {
      reloading ??= load().finally(() => {
        reloading = undefined;
      });
      return reloading;
    },
    async learn(typeName) {
      if (!snapshot || descriptors) return false;
      if (snapshot.schema.registry.getMessage(typeName)) return true;
      const asked = unknownTypes.get(typeName);
      if (asked !== undefined && Date.now() - asked < forgetMs) return false;
      const files = await loadSymbol(upstream, typeName);
      if (files.length === 0) {
        if (unknownTypes.size >= 1_000) unknownTypes.clear();
        unknownTypes.set(typeName, Date.now());
        return false;
      }
      install(extendSchema(snapshot.schema, files));
      return snapshot.schema.registry.getMessage(typeName) !== undefined;
    },
  };
}

async function loadFromDisk(path: string): Promise<DescriptorSource> {
  const isFolder = (await stat(path)).isDirectory();
  return isFolder ? loadProtoFolder(path) : parseDescriptorSet(await readFile(path));
}

function toFingerprint({ files, services }: DescriptorSource): string {
  const hash = createHash('sha256').update(services.join());
  const sorted = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const file of sorted) hash.update(toBinary(FileDescriptorProtoSchema, file));
  return hash.digest('hex');
}
