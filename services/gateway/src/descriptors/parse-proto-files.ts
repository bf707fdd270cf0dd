import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { create, fromBinary, fromJson, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type DescriptorProtoSchema,
  Edition,
  type EnumDescriptorProtoSchema,
  type FeatureSet,
  FeatureSetSchema,
  type FieldDescriptorProtoSchema,
  type FieldOptions,
  FieldOptionsSchema,
  FieldDescriptorProto_Type as FieldType,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  MethodOptionsSchema,
  type ServiceDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import protobuf from 'protobufjs';
import { type HttpRuleText, writeFieldRules, writeHttpRule } from './options.ts';
import { type DescriptorSource, listNumber, listServices, wellKnownFiles } from './schema.ts';

// The grammar is protobufjs's; its own descriptor export loses custom options and file boundaries, so the conversion is
// ours. Options other than google.api.http and gogoproto do not change what is served.

type EnumInit = MessageInitShape<typeof EnumDescriptorProtoSchema>;
type FieldInit = MessageInitShape<typeof FieldDescriptorProtoSchema>;
type MessageInit = MessageInitShape<typeof DescriptorProtoSchema>;
type ServiceInit = MessageInitShape<typeof ServiceDescriptorProtoSchema>;
type Resolve = (name: string, scope: string) => { typeName: string; type: FieldType };

const scalarType = /^(?:double|float|bool|string|bytes|u?int(?:32|64)|s?fixed(?:32|64)|sint(?:32|64))$/;

/** Throws with the file and line of a syntax error, and names types that are nowhere declared. */
export function parseProtoFiles(sources: { name: string; text: string }[]): FileDescriptorProto[] {
  // Each file has a root of its own, to keep apart the files of one package.
  const parsed = sources.map(({ name, text }) => {
    const root = new protobuf.Root();
    try {
      const { package: packageName = '', imports = [] } = protobuf.parse(text, root, {
        keepCase: true,
        alternateCommentMode: true,
      });
      const [, kind = 'syntax', version = 'proto2'] = /^\s*(syntax|edition)\s*=\s*["'](\w+)["']/m.exec(text) ?? [];
      const namespace = packageName ? root.lookup(packageName) : root;
      const declared = namespace instanceof protobuf.Namespace ? namespace.nestedArray : [];
      return {
        name,
        packageName,
        imports,
        edition: kind === 'syntax' ? undefined : version,
        syntax: version,
        declared,
      };
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    }
  });

  const types = new Map<string, FieldType>();
  for (const file of wellKnownFiles.values()) {
    for (const { name } of file.messageType) types.set(`${file.package}.${name}`, FieldType.MESSAGE);
    for (const { name } of file.enumType) types.set(`${file.package}.${name}`, FieldType.ENUM);
  }
  for (const { packageName, declared } of parsed) collectTypes(declared, packageName, types);
  const resolve: Resolve = (name, scope) => {
    if (name.startsWith('.')) return { typeName: name, type: types.get(name.slice(1)) ?? unknownType(name, scope) };
    for (let outer = scope; ; outer = outer.slice(0, Math.max(0, outer.lastIndexOf('.')))) {
      const full = outer ? `${outer}.${name}` : name;
      const type = types.get(full);
      if (type !== undefined) return { typeName: `.${full}`, type };
      if (outer === '') return unknownType(name, scope);
    }
  };

  const names = new Set(sources.map(({ name }) => name));
  return parsed.map(({ name, packageName, imports, syntax, edition, declared }) =>
    create(FileDescriptorProtoSchema, {
      name,
      package: packageName,
      syntax: edition ? 'editions' : syntax,
      ...(edition && { edition: Edition[`EDITION_${edition}` as keyof typeof Edition] }),
      dependency: imports.filter((path) => names.has(path) || wellKnownFiles.has(path)),
      messageType: ofKind(declared, protobuf.Type).map((type) => toMessage(type, packageName, resolve)),
      enumType: ofKind(declared, protobuf.Enum).map(toEnum),
      service: ofKind(declared, protobuf.Service).map((service) => toService(service, packageName, resolve)),
      sourceCodeInfo: { location: listComments(declared) },
    }),
  );
}

type Comments = { path: number[]; leadingComments: string }[];

function listComments(declared: protobuf.ReflectionObject[]): Comments {
  return [
    ...ofKind(declared, protobuf.Type).flatMap((type, at) => commentsOfType(type, [listNumber.messages, at])),
    ...ofKind(declared, protobuf.Service).flatMap((service, at) => [
      ...commentOf(service, [listNumber.services, at]),
      ...service.methodsArray.flatMap((method, no) =>
        commentOf(method, [listNumber.services, at, listNumber.methods, no]),
      ),
    ]),
  ];
}

function commentsOfType(type: protobuf.Type, path: number[]): Comments {
  return [
    ...commentOf(type, path),
    ...ownFields(type).flatMap((field, at) => commentOf(field, [...path, listNumber.fields, at])),
    ...ofKind(type.nestedArray, protobuf.Type).flatMap((nested, at) =>
      commentsOfType(nested, [...path, listNumber.nested, at]),
    ),
  ];
}

function commentOf({ comment }: protobuf.ReflectionObject, path: number[]): Comments {
  return comment ? [{ path, leadingComments: comment }] : [];
}

function ownFields(type: protobuf.Type): protobuf.Field[] {
  return type.fieldsArray.filter((field) => !field.extend && !field.name.startsWith('.'));
}

function unknownType(name: string, scope: string): never {
  throw new Error(`${scope} uses the type ${name}, which no file declares`);
}

function ofKind<T>(objects: protobuf.ReflectionObject[], kind: new (...args: never[]) => T): T[] {
  return objects.filter((object): object is protobuf.ReflectionObject & T => object instanceof kind);
}

function collectTypes(objects: protobuf.ReflectionObject[], scope: string, into: Map<string, FieldType>): void {
  for (const object of objects) {
    const full = scope ? `${scope}.${object.name}` : object.name;
    if (object instanceof protobuf.Enum) into.set(full, FieldType.ENUM);
    if (object instanceof protobuf.Type) {
      into.set(full, 'group' in object && object.group ? FieldType.GROUP : FieldType.MESSAGE);
      collectTypes(object.nestedArray, full, into);
    }
  }
}

function toMessage(type: protobuf.Type, scope: string, resolve: Resolve): MessageInit {
  const full = scope ? `${scope}.${type.name}` : type.name;
  // Real oneofs first, then the ones that stand for `optional`: the order protoc promises.
  const oneofs = [...type.oneofsArray].sort((a, b) => Number(a.isProto3Optional) - Number(b.isProto3Optional));
  const fields = ownFields(type);
  return {
    name: type.name,
    field: fields.map((field) => toField(field, full, { resolve, oneofs })),
    oneofDecl: oneofs.map(({ name }) => ({ name })),
    nestedType: [
      ...ofKind(type.nestedArray, protobuf.Type).map((nested) => toMessage(nested, full, resolve)),
      ...fields.flatMap((field) => (field instanceof protobuf.MapField ? toMapEntry(field, full, resolve) : [])),
    ],
    enumType: ofKind(type.nestedArray, protobuf.Enum).map(toEnum),
    options: toFeatures(type.options),
  };
}

function toField(
  field: protobuf.Field,
  scope: string,
  { resolve, oneofs }: { resolve: Resolve; oneofs: protobuf.OneOf[] },
): FieldInit {
  const isMap = field instanceof protobuf.MapField;
  const options = field.options ?? {};
  const label = isMap || field.repeated ? Label.REPEATED : field.required ? Label.REQUIRED : Label.OPTIONAL;
  return {
    name: field.name,
    jsonName: typeof options.json_name === 'string' ? options.json_name : toJsonName(field.name),
    number: field.id,
    label,
    ...(isMap
      ? { type: FieldType.MESSAGE, typeName: `.${scope}.${toEntryName(field.name)}` }
      : toType(field.type, scope, resolve)),
    ...(field.partOf && { oneofIndex: oneofs.indexOf(field.partOf) }),
    ...(options.proto3_optional === true && { proto3Optional: true }),
    options: toFieldOptions(options),
  };
}

function toMapEntry(field: protobuf.MapField, scope: string, resolve: Resolve): MessageInit {
  const optional = { label: Label.OPTIONAL };
  return {
    name: toEntryName(field.name),
    field: [
      { name: 'key', jsonName: 'key', number: 1, ...optional, ...toType(field.keyType, scope, resolve) },
      { name: 'value', jsonName: 'value', number: 2, ...optional, ...toType(field.type, scope, resolve) },
    ],
    options: { mapEntry: true },
  };
}

function toType(name: string, scope: string, resolve: Resolve): FieldInit {
  if (!scalarType.test(name)) return resolve(name, scope);
  return { type: FieldType[name.toUpperCase() as keyof typeof FieldType] };
}

function toEnum(type: protobuf.Enum): EnumInit {
  return {
    name: type.name,
    value: Object.entries(type.values).map(([name, number]) => ({ name, number })),
    options: { allowAlias: type.options?.allow_alias === true, ...toFeatures(type.options) },
  };
}

function toService(service: protobuf.Service, scope: string, resolve: Resolve): ServiceInit {
  return {
    name: service.name,
    method: service.methodsArray.map((method) => {
      const rule = method.parsedOptions?.flatMap((option) => readRuleText(option)).at(-1);
      return {
        name: method.name,
        inputType: resolve(method.requestType, scope).typeName,
        outputType: resolve(method.responseType, scope).typeName,
        clientStreaming: method.requestStream === true,
        serverStreaming: method.responseStream === true,
        options: fromBinary(MethodOptionsSchema, rule ? writeHttpRule(rule) : new Uint8Array()),
      };
    }),
  };
}

function readRuleText(option: unknown): HttpRuleText[] {
  const rule = (option as Record<string, HttpRuleText | undefined>)['(google.api.http)'];
  return rule ? [rule] : [];
}

function toFieldOptions(options: Record<string, unknown>): FieldOptions {
  const message = Object.assign(fromBinary(FieldOptionsSchema, writeFieldRules(options)), toFeatures(options));
  if (options.packed !== undefined) message.packed = options.packed === true;
  return message;
}

/** What editions set for a declaration; the parser passes on what a file sets for all of its own. */
function toFeatures(options: Record<string, unknown> | undefined): { features?: FeatureSet } {
  const features = options?.features as JsonObject | undefined;
  return features ? { features: fromJson(FeatureSetSchema, features, { ignoreUnknownFields: true }) } : {};
}

function toEntryName(field: string): string {
  const camel = field.replace(/(?:^|_)([a-zA-Z0-9])/g, (_match, letter: string) => letter.toUpperCase());
  return `${camel.replaceAll('_', '')}Entry`;
}

function toJsonName(name: string): string {
  return name.replace(/_+([a-zA-Z0-9]?)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Import paths are relative to the folder; services come in the order of the paths. */
export async function loadProtoFolder(folder: string): Promise<DescriptorSource> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.proto'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const sources = await Promise.all(
    paths.map(async (path) => ({
      name: path.slice(join(folder, sep).length).split(sep).join('/'),
      text: await readFile(path, 'utf8'),
    })),
  );
  const files = parseProtoFiles(sources);
  return { files, services: listServices(files) };
}
