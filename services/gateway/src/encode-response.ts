import type { DescMessage, Registry } from '@bufbuild/protobuf';
import { compileBare, compileMessage } from './printer/compile-message.ts';
import { compileGoJson, printsItself } from './printer/go-json.ts';
import { quoteText } from './printer/json-text.ts';
import type { FindPrinter, MessagePrinter } from './printer/message-printer.ts';
import { durationPrinter, timestampPrinter } from './printer/time-printers.ts';
import { WireError, WireReader, wire } from './printer/wire-reader.ts';

export type Encoded =
  | { ok: true; json: string }
  /** `missingTypes` are all `Any` types of the message that no known file declares; the node may still know them. */
  | { ok: false; message: string; missingTypes?: string[] };

export interface Encoder {
  /** Wire bytes of `type` as the reference's JSON; with `only`, the JSON of that field alone. */
  encode(type: DescMessage, bytes: Uint8Array, only?: string): Encoded;
}

const bareTypes = new Set([
  ...['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes'].map((name) => `${name}Value`),
  ...['Struct', 'ListValue', 'Value'],
]);

/** Printers for the types of a registry, compiled when first used. */
export function createEncoder(registry: Registry): Encoder {
  const printers = new Map<string, MessagePrinter>();
  const find: FindPrinter = (type, place) => {
    const isOwn = place === 'field' && printsItself(type);
    const name = isOwn ? `${type.typeName} in a field` : type.typeName;
    const known = printers.get(name);
    if (known) return known;
    // Types may contain themselves: while one is being compiled, others already hold its place.
    const printer: MessagePrinter = { print: () => '', wellKnown: false };
    printers.set(name, printer);
    return Object.assign(printer, isOwn ? compileGoJson(type, find) : compile(type));
  };
  const compile = (type: DescMessage): MessagePrinter => {
    if (type.typeName === 'google.protobuf.Timestamp') return timestampPrinter;
    if (type.typeName === 'google.protobuf.Duration') return durationPrinter;
    if (type.typeName === 'google.protobuf.Any') return { print: printAny, wellKnown: true };
    if (type.file.proto.package === 'google.protobuf' && bareTypes.has(type.name)) return compileBare(type, find);
    return compileMessage(type, find);
  };

  /** Type URLs of the message being printed that could not be resolved, by type name. */
  let missing = new Map<string, string>();
  const printAny = (reader: WireReader): string => {
    let typeUrl = '';
    let start = reader.end;
    let end = reader.end;
    while (reader.pos < reader.end) {
      const tag = reader.tag();
      if (tag === ((1 << 3) | wire.bytes)) typeUrl = reader.bytes.toString('utf8', reader.span(), reader.pos);
      else if (tag === ((2 << 3) | wire.bytes)) {
        start = reader.span();
        end = reader.pos;
      } else if (tag >>> 3 <= 2) throw new WireError('wrong wire type in an Any');
      else reader.skip(tag);
    }
    const typeName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
    const type = registry.getMessage(typeName);
    if (!type) {
      if (typeName === '') throw new WireError('an Any without a type');
      missing.set(typeName, typeUrl);
      return 'null'; // not shown: the message is printed to its end only to find the other missing types
    }
    const printer = find(type);
    const head = `{"@type":${quoteText(typeUrl)}`;
    const print = () =>
      printer.wellKnown ? `${head},"value":${printer.print(reader, '{')}}` : printer.print(reader, head);
    return reader.between(start, end, print);
  };

  const bodies = new Map<string, MessagePrinter>();
  const findBody = (type: DescMessage, only: string): MessagePrinter => {
    const name = `${type.typeName}.${only}`;
    const printer = bodies.get(name) ?? compileBare(type, find, only);
    bodies.set(name, printer);
    return printer;
  };

  return {
    encode(type, bytes, only) {
      try {
        const printer = only ? findBody(type, only) : find(type);
        missing = new Map();
        const json = printer.print(new WireReader(bytes), '{');
        if (missing.size === 0) return { ok: true, json };
        const [typeUrl] = missing.values();
        return { ok: false, message: `unable to resolve type URL ${typeUrl}`, missingTypes: [...missing.keys()] };
      } catch (error) {
        if (error instanceof WireError) return { ok: false, message: error.message };
        throw error;
      }
    },
  };
}
