import {
  clone,
  create,
  createFileRegistry,
  createMutableRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MutableRegistry,
} from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from '@bufbuild/protobuf/wkt';

/** Services come in the order in which their routes are registered. */
export interface DescriptorSource {
  files: FileDescriptorProto[];
  services: string[];
}

export interface Schema {
  /** Grows when `Any` types are learned; what it holds stays. */
  registry: MutableRegistry;
  files: Map<string, DescFile>;
  services: DescService[];
}

/** Files every source may import without carrying them. */
export const wellKnownFiles: ReadonlyMap<string, FileDescriptorProto> = new Map(
  [
    file_google_protobuf_any,
    file_google_protobuf_descriptor,
    file_google_protobuf_duration,
    file_google_protobuf_empty,
    file_google_protobuf_field_mask,
    file_google_protobuf_struct,
    file_google_protobuf_timestamp,
    file_google_protobuf_wrappers,
  ].map(({ proto }) => [proto.name, proto]),
);

/** Links the files of a source. Throws when a type is used that no file declares. */
export function createSchema({ files, services }: DescriptorSource): Schema {
  const linked = createFileRegistry(create(FileDescriptorSetSchema, { file: inDependencyOrder(files) }));
  return {
    registry: createMutableRegistry(linked),
    files: new Map([...linked.files].map((file) => [file.proto.name, file])),
    services: services.flatMap((name) => linked.getService(name) ?? []),
  };
}

/** Adds files for `Any` types that no service file imports; only the new ones are linked. */
export function addFiles({ registry, files }: Schema, added: FileDescriptorProto[]): void {
  const known = [...files.values()].map(({ proto }) => proto);
  for (const file of inDependencyOrder(added, known)) {
    if (files.has(file.name)) continue;
    const linked = createFileRegistry(file, (name) => files.get(name)).getFile(file.name);
    if (!linked) continue;
    files.set(file.name, linked);
    for (const type of nestedTypes(linked)) registry.add(type);
  }
}

export function parseFile(bytes: Uint8Array): FileDescriptorProto {
  return fromBinary(FileDescriptorProtoSchema, bytes);
}

/** As `protoc -o` and `buf build` write it; services come in the order of the files. */
export function parseDescriptorSet(bytes: Uint8Array): DescriptorSource {
  const { file: files } = fromBinary(FileDescriptorSetSchema, bytes);
  return { files, services: listServices(files) };
}

export function listServices(files: FileDescriptorProto[]): string[] {
  return files.flatMap((file) => file.service.map(({ name }) => (file.package ? `${file.package}.${name}` : name)));
}

export function toMethodPath(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Dependencies first, without imports that nobody has: linking names a type that is really missing. */
function inDependencyOrder(files: FileDescriptorProto[], linked: FileDescriptorProto[] = []): FileDescriptorProto[] {
  const byName = new Map(wellKnownFiles);
  for (const file of [...files, ...linked]) byName.set(file.name, file);
  const ordered: FileDescriptorProto[] = [];
  const seen = new Set(linked.map(({ name }) => name));
  const visit = (file: FileDescriptorProto) => {
    if (seen.has(file.name)) return;
    seen.add(file.name);
    const imports = file.dependency.flatMap((name) => byName.get(name) ?? []);
    for (const next of imports) visit(next);
    const dependency = imports.map(({ name }) => name);
    const bare = { dependency, publicDependency: [], weakDependency: [], optionDependency: [] };
    ordered.push(Object.assign(clone(FileDescriptorProtoSchema, file), bare));
  };
  for (const file of files) visit(file);
  return ordered;
}

// Comments of `.proto` files, which descriptors carry as source information. Reflection leaves it out.

type Described = DescMessage | DescField | DescService | DescMethod;

/** The numbers of the lists inside a descriptor, which make up the path of a comment. */
export const listNumber = { messages: 4, services: 6, fields: 2, nested: 3, methods: 2 };

const byFile = new WeakMap<DescFile, Map<string, string>>();
/** Directives for tools are not descriptions. */
const directive = /^(?:buf:|nolint|clang-format|@exclude)/;

/** The comment above a declaration, or after it on its line; empty without one. */
export function readComment(described: Described): string {
  const file = described.kind === 'field' || described.kind === 'rpc' ? described.parent.file : described.file;
  let comments = byFile.get(file);
  if (!comments) {
    const locations = file.proto.sourceCodeInfo?.location ?? [];
    comments = new Map(locations.map((at) => [at.path.join(), tidy(at.leadingComments || at.trailingComments)]));
    byFile.set(file, comments);
  }
  return comments.size === 0 ? '' : (comments.get(pathOf(described).join()) ?? '');
}

function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => !directive.test(line))
    .join('\n')
    .trim();
}

function pathOf(described: Described): number[] {
  if (described.kind === 'field') {
    const { parent } = described;
    return [...pathOf(parent), listNumber.fields, parent.proto.field.indexOf(described.proto)];
  }
  if (described.kind === 'rpc') {
    const { parent } = described;
    return [...pathOf(parent), listNumber.methods, parent.proto.method.indexOf(described.proto)];
  }
  const { proto } = described.file;
  if (described.kind === 'service') return [listNumber.services, proto.service.indexOf(described.proto)];
  const { parent } = described;
  return parent
    ? [...pathOf(parent), listNumber.nested, parent.proto.nestedType.indexOf(described.proto)]
    : [listNumber.messages, proto.messageType.indexOf(described.proto)];
}
