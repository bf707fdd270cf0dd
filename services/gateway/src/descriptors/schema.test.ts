import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { readFieldRules, readHttpRules } from './options.ts';
import { loadProtoFolder } from './parse-proto-files.ts';
import { createSchema, parseDescriptorSet, type Schema } from './schema.ts';

/** Everything the gateway uses of a schema, as lines of text. Files that only declare options may be missing. */
function describeSchema({ registry, services }: Schema): string[] {
  const lines = services.map((service) => service.typeName);
  for (const type of registry) {
    if (/^(?:google|cosmos_proto)\./.test(type.typeName)) continue;
    if (type.kind === 'enum') lines.push(`${type} ${type.values.map(({ name, number }) => `${name}=${number}`)}`);
    if (type.kind === 'service') {
      for (const method of type.methods)
        lines.push(
          `${method} ${method.methodKind} ${method.input} ${method.output} ${JSON.stringify(readHttpRules(method))}`,
        );
    }
    if (type.kind !== 'message') continue;
    for (const field of type.fields) {
      const { number, jsonName, fieldKind, oneof, presence, scalar, message } = field;
      const packed = field.fieldKind === 'list' && field.packed;
      const facts = {
        number,
        jsonName,
        fieldKind,
        oneof: oneof?.name,
        presence,
        packed,
        scalar,
        type: message?.typeName,
      };
      lines.push(`${field} ${JSON.stringify({ ...facts, ...readFieldRules(field) })}`);
    }
  }
  return lines.sort();
}

async function folderWith(files: Record<string, string>) {
  const folder = await createTempDir();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), text);
  }
  return folder;
}

test.each([
  ['the fixture', '../../test/protos', '../../test/fixture.binpb'],
  // Also fails when these were not compiled again after a change; see the development node's README.
  ['the development node', '../../../devnode/protos', '../../../devnode/protos/descriptors.binpb'],
])(
  'the .proto files of %s give what the protobuf compiler gave, custom options included',
  async (_name, folder, set) => {
    const path = (relative: string) => new URL(relative, import.meta.url).pathname;
    const lines = describeSchema(createSchema(await loadProtoFolder(path(folder))));
    expect(lines).toEqual(describeSchema(createSchema(parseDescriptorSet(await readFile(path(set))))));
    expect(lines.length).toBeGreaterThan(100);
  },
);

test('nested types, optional fields and types of other packages are found', async () => {
  await using folder = await folderWith({
    'a/a.proto': `syntax = "proto3"; package a.v1; import "b.proto";
      message Outer { message Inner { enum Kind { NONE = 0; } Kind kind = 1; } optional Inner inner = 1; .b.Thing thing = 2;
        oneof pick { b.Thing other = 3; string text = 4; } map<string, Inner> all = 5;
        string named_so = 6 [json_name = "called"]; string plain_name = 7; }`,
    'b.proto': 'syntax = "proto3"; package b; message Thing { string a = 1; }',
  });
  const { registry } = createSchema(await loadProtoFolder(folder.path));
  const fields = registry.getMessage('a.v1.Outer')?.fields ?? [];
  expect(fields.map((field) => field.jsonName).slice(-2)).toEqual(['called', 'plainName']);
  expect(fields.slice(0, -2).map((field) => [field.name, field.message?.typeName])).toEqual([
    ['inner', 'a.v1.Outer.Inner'],
    ['thing', 'b.Thing'],
    ['other', 'b.Thing'],
    ['text', undefined],
    ['all', 'a.v1.Outer.Inner'],
  ]);
});

test('a fault names the file or the type', async () => {
  await using broken = await folderWith({ 'x/bad.proto': 'syntax = "proto3"; message {' });
  await expect(loadProtoFolder(broken.path)).rejects.toThrow('x/bad.proto');
  await using missing = await folderWith({ 'm.proto': 'syntax = "proto3"; package m; message A { Nowhere b = 1; }' });
  await expect(loadProtoFolder(missing.path)).rejects.toThrow('m.A uses the type Nowhere');
});
