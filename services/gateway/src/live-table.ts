// Descriptors are read at the start and when a node comes back; running requests keep the table they began with.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Logger } from '@palaver/service-kit';
import { createTypeLearner, loadReflection, type TypeLearner } from './descriptors/load-reflection.ts';
import { loadProtoFolder } from './descriptors/parse-proto-files.ts';
import { createSchema, type DescriptorSource, parseDescriptorSet, type Schema } from './descriptors/schema.ts';
import { createEncoder, type Encoder } from './encode-response.ts';
import { createRouteTable, type RouteOptions, type RouteTable } from './route-table.ts';
import type { Upstream } from './upstream/upstream.ts';

export interface Snapshot {
  /** Grows when the descriptors change; answers printed by another version are not comparable. */
  version: number;
  schema: Schema;
  table: RouteTable;
  encoder: Encoder;
  standardEncoder: Encoder;
  /** Asks the nodes for `Any` types that no service file declares; undefined when the descriptors come from disk. */
  learner: TypeLearner | undefined;
}

export interface LiveTableOptions {
  descriptors: string | undefined;
  upstream: Upstream;
  routes: RouteOptions;
  logger: Logger;
  onChange(snapshot: Snapshot): void;
}

export function createLiveTable(options: LiveTableOptions) {
  const { descriptors, upstream, routes, logger, onChange } = options;
  let snapshot: Snapshot | undefined;
  let version = 0;
  let fingerprint = '';
  let reloading: Promise<void> | undefined;
  let isOutdated = false;

  const load = async () => {
    isOutdated = false;
    const source = await (descriptors ? loadFromDisk(descriptors) : loadReflection(await upstream.pin()));
    const print = toFingerprint(source);
    if (print === fingerprint) return;
    const schema = createSchema(source);
    const table = createRouteTable(schema, routes);
    version += 1;
    fingerprint = print;
    const learner = descriptors ? undefined : createTypeLearner({ schema, upstream, logger });
    const [encoder, standardEncoder] = [createEncoder(schema.registry), createEncoder(schema.registry, true)];
    snapshot = { version, schema, table, encoder, standardEncoder, learner };
    onChange(snapshot);
    logger.info({ routes: table.routes.length, services: source.services.length }, 'routes loaded');
    for (const fault of table.faults) logger.warn({ fault }, 'a route is not served');
    learner?.learnListed().catch((error: unknown) => logger.warn({ err: error }, 'the types could not be listed'));
  };
  // A node that was reached while others were being asked may be another version: it is asked as well.
  const loadUntilCurrent = async () => {
    do await load();
    while (isOutdated);
  };

  return {
    current: () => snapshot,
    /** Reads the descriptors again and swaps the table if they changed. Rejects when they cannot be read. */
    reload(): Promise<void> {
      isOutdated = true;
      reloading ??= loadUntilCurrent().finally(() => {
        reloading = undefined;
      });
      return reloading;
    },
  };
}

export type LiveTable = ReturnType<typeof createLiveTable>;

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
