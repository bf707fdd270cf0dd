import {
  type DescEnum,
  type DescExtension,
  type DescMessage,
  type DescService,
  type FileRegistry,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';

/** A file of the protocol as a compiler wrote it, with every option kept, and the files it imports. */
export interface ProtoFile {
  name: string;
  bytes: Uint8Array;
  imports: ProtoFile[];
}

export interface SymbolIndex {
  /** In alphabetical order, as other servers list them. */
  services: string[];
  file(name: string): ProtoFile | undefined;
  fileOfSymbol(name: string): ProtoFile | undefined;
  fileOfExtension(typeName: string, number: number): ProtoFile | undefined;
  /** Undefined for a type that is not known. */
  extensionNumbers(typeName: string): number[] | undefined;
}

export function createSymbolIndex(protocol: FileRegistry): SymbolIndex {
  const files = new Map<string, ProtoFile>();
  // Files come with their imports before them.
  for (const { proto, dependencies } of protocol.files) {
    const imports = dependencies.flatMap((file) => files.get(file.proto.name) ?? []);
    files.set(proto.name, { name: proto.name, bytes: toBinary(FileDescriptorProtoSchema, proto), imports });
  }
  const types = [...protocol];
  const symbols = new Map(types.flatMap((desc) => listSymbols(desc).map((name) => [name, desc.file.proto.name])));
  const extensions = Map.groupBy(
    types.filter((desc) => desc.kind === 'extension'),
    ({ extendee }) => extendee.typeName,
  );
  const fileOf = (name: string | undefined) => (name === undefined ? undefined : files.get(name));
  return {
    services: types
      .filter((desc) => desc.kind === 'service')
      .map(({ typeName }) => typeName)
      .sort(),
    file: fileOf,
    fileOfSymbol: (name) => fileOf(symbols.get(name)),
    fileOfExtension: (typeName, number) =>
      fileOf(extensions.get(typeName)?.find((extension) => extension.number === number)?.file.proto.name),
    extensionNumbers(typeName) {
      if (!protocol.getMessage(typeName)) return undefined;
      return (extensions.get(typeName) ?? []).map(({ number }) => number).sort((a, b) => a - b);
    },
  };
}

/** Every name that a type declares: its own and those of its parts. */
function listSymbols(desc: DescMessage | DescEnum | DescExtension | DescService): string[] {
  const { typeName } = desc;
  switch (desc.kind) {
    case 'message':
      return [typeName, ...[...desc.fields, ...desc.oneofs].map(({ name }) => `${typeName}.${name}`)];
    case 'service':
      return [typeName, ...desc.methods.map(({ name }) => `${typeName}.${name}`)];
    case 'enum': {
      // Values are named in the scope of their enum, not under it.
      const scope = typeName.slice(0, -desc.name.length);
      return [typeName, ...desc.values.map(({ name }) => `${scope}${name}`)];
    }
    case 'extension':
      return [typeName];
  }
}
