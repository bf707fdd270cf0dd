// Comments of `.proto` files, which descriptors carry as source information. Nodes leave it out of their reflection.
import type { DescField, DescFile, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';

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
