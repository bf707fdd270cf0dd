import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { toGrpcCode } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { LRUCache } from 'lru-cache';
import { readFields, type WireField } from '../printer/wire-reader.ts';
import type { Caller } from '../upstream/connection.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { addFiles, type DescriptorSource, parseFile, type Schema } from './schema.ts';

// Reflection is a stream of questions and answers; with one question per call the unary client is enough.

export const reflectionVersions = ['grpc.reflection.v1', 'grpc.reflection.v1alpha'];
export const toReflectionPath = (version: string) => `/${version}.ServerReflection/ServerReflectionInfo`;
const question = { fileByName: 3, fileOfSymbol: 4, listServices: 7 };
const answer = { files: 4, services: 6, error: 7 };
const timeoutMs = 10_000;
const concurrency = 8;

type Ask = (field: number, text: string) => Promise<Reply>;

interface Reply {
  files: RawFile[];
  services: string[];
}

/** A file that is not parsed yet: nodes send the same imports with every file that needs them. */
interface RawFile {
  name: string;
  bytes: Uint8Array;
  dependency: string[];
}

type RawFiles = Map<string, RawFile>;

/** All services the node lists, in its order, with every file they need. Throws when the node cannot be asked. */
export async function loadReflection(node: Caller): Promise<DescriptorSource> {
  const { ask, services } = await listServices(node);
  const files: RawFiles = new Map();
  // A node may list a service whose files it does not have; its other services are still served.
  const known = new Set<string>();
  await inParallel(services, async (service) => {
    const reply = await ask(question.fileOfSymbol, service).catch(emptyIfUnknown);
    if (reply.files.length > 0) known.add(service);
    keepNew(files, reply);
  });
  await loadImports(ask, files, () => false);
  return { files: parseFiles(files), services: services.filter((service) => known.has(service)) };
}

/** The file that declares a type, with those of its imports that are not known; empty if the node does not know the type. */
async function loadSymbol(
  node: Caller,
  typeName: string,
  isKnown: (fileName: string) => boolean,
): Promise<FileDescriptorProto[]> {
  for (const version of reflectionVersions) {
    const ask = createAsk(node, version);
    const reply = await ask(question.fileOfSymbol, typeName).catch(emptyIfUnknown);
    if (reply.files.length === 0) continue;
    const files: RawFiles = new Map();
    keepNew(files, reply, isKnown);
    await loadImports(ask, files, isKnown);
    return parseFiles(files);
  }
  return [];
}

/** Some nodes send a file without those it imports. */
async function loadImports(ask: Ask, files: RawFiles, isKnown: (fileName: string) => boolean): Promise<void> {
  for (;;) {
    const imports = new Set([...files.values()].flatMap((file) => file.dependency));
    const missing = [...imports].filter((name) => !files.has(name) && !isKnown(name));
    const before = files.size;
    await inParallel(missing, async (name) => {
      // A file that only declares options may be unknown to the node; linking finds out if it was needed.
      const reply = await ask(question.fileByName, name).catch(emptyIfUnknown);
      keepNew(files, reply, isKnown);
    });
    if (files.size === before) return;
  }
}

function keepNew(files: RawFiles, reply: Reply, isKnown: (fileName: string) => boolean = () => false): void {
  for (const file of reply.files) if (!files.has(file.name) && !isKnown(file.name)) files.set(file.name, file);
}

function parseFiles(files: RawFiles): FileDescriptorProto[] {
  return [...files.values()].map(({ bytes }) => parseFile(bytes));
}

async function listServices(node: Caller): Promise<{ ask: Ask; services: string[] }> {
  let last: unknown;
  for (const version of reflectionVersions) {
    const ask = createAsk(node, version);
    try {
      const { services } = await ask(question.listServices, '');
      return { ask, services };
    } catch (error) {
      last = error;
      if (!(error instanceof ReflectionError) || error.code !== toGrpcCode('UNIMPLEMENTED')) throw error;
    }
  }
  throw new Error('the node offers no server reflection; give GATEWAY_DESCRIPTORS instead', { cause: last });
}

class ReflectionError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(`reflection: ${message}`);
    this.code = code;
  }
}

const unknownCodes = new Set<number>([toGrpcCode('NOT_FOUND'), toGrpcCode('UNIMPLEMENTED')]);

function emptyIfUnknown(error: unknown): Reply {
  if (error instanceof ReflectionError && unknownCodes.has(error.code)) return emptyReply();
  throw error;
}

function createAsk(node: Caller, version: string): Ask {
  return async (field, text) => {
    const body = new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish();
    const reply = await node.call({ path: toReflectionPath(version), body, metadata: {}, timeoutMs });
    if (!reply.ok) throw new ReflectionError(reply.code, reply.message);
    return parseReply(reply.message);
  };
}

function parseReply(message: Uint8Array): Reply {
  const reply = emptyReply();
  for (const { no, bytes } of readFields(message)) {
    if (no === answer.files) reply.files.push(...readFields(bytes).map((file) => readRawFile(file.bytes)));
    if (no === answer.services)
      for (const service of readFields(bytes)) reply.services.push(...readFields(service.bytes).map(toText));
    if (no === answer.error) {
      const text = readFields(bytes).find((field) => field.no === 2);
      throw new ReflectionError(toGrpcCode('NOT_FOUND'), text ? toText(text) : 'refused');
    }
  }
  return reply;
}

const toText = ({ bytes }: WireField) => bytes.toString('utf8');

const fileField = { name: 1, dependency: 3 };

function readRawFile(bytes: Buffer): RawFile {
  const fields = readFields(bytes);
  const textsOf = (wanted: number) => fields.filter(({ no }) => no === wanted).map(toText);
  return { name: textsOf(fileField.name).at(-1) ?? '', bytes, dependency: textsOf(fileField.dependency) };
}

function emptyReply(): Reply {
  return { files: [], services: [] };
}

async function inParallel<T>(items: T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const work = async () => {
    for (const item of rest) await run(item);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

// `Any` types that no service file declares, requested once and added to the schema in use: nothing is recompiled.

interface TypeLearnerOptions {
  schema: Schema;
  upstream: Upstream;
  logger: Logger;
}

/** How long a type that the nodes did not know is not asked for again. */
const forgetMs = 60_000;
const maxUnknown = 1_000;

export function createTypeLearner({ schema, upstream, logger }: TypeLearnerOptions) {
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
    async learnListed(): Promise<void> {
      // A few at a time: a query with an unknown type does not wait for all the others.
      const names = await listAnyTypes(await upstream.pin());
      await inParallel(names, async (name) => learnOne(name));
      logger.info({ types: names.length }, 'types loaded');
    },
    async learn(typeNames: string[]): Promise<void> {
      await Promise.all(typeNames.map(learnOne));
    },
  };
}

export type TypeLearner = ReturnType<typeof createTypeLearner>;

const service = '/cosmos.base.reflection.v1beta1.ReflectionService';

/** The types that a Cosmos SDK node packs into `Any`s, from its interface registry; empty when it does not list them. */
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
