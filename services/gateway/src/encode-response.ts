import type { DescMessage, Registry } from '@bufbuild/protobuf';
import { compileBare, compileMessage } from './printer/compile-message.ts';
import { compileGoJson, printsItself } from './printer/go-json.ts';
import { quoteText } from './printer/json-text.ts';
import type { MessagePrinter, Printing } from './printer/message-printer.ts';
import { JsonTooLargeError, printInPieces } from './printer/pieces.ts';
import { durationPrinter, standardTimestampPrinter, timestampPrinter } from './printer/scalar-printers.ts';
import { WireError, WireReader, wire } from './printer/wire-reader.ts';

export type Encoded<T = string> =
  | { ok: true; json: T }
  /** `missingTypes` are all `Any` types of the message that no loaded file declares; the node may still know them. */
  | { ok: false; message: string; missingTypes?: string[]; isTooLarge?: boolean };

const bareTypes = new Set([
  ...['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes'].map((name) => `${name}Value`),
  ...['Struct', 'ListValue', 'Value'],
]);

/** Printers for the types of a registry, compiled when first used: the reference's JSON, or standard proto3 JSON. */
export function createEncoder(registry: Registry, proto3 = false) {
  const printers = new Map<string, MessagePrinter>();
  const find: Printing['find'] = (type, place) => {
    const isOwn = !proto3 && place === 'field' && printsItself(type);
    const name = isOwn ? `${type.typeName} in a field` : type.typeName;
    const known = printers.get(name);
    if (known) return known;
    // Types may contain themselves: while one is being compiled, others already hold its place.
    const printer: MessagePrinter = { print: () => '', wellKnown: false };
    printers.set(name, printer);
    return Object.assign(printer, isOwn ? compileGoJson(type, printing) : compile(type));
  };
  const printing: Printing = { proto3, find };
  const compile = (type: DescMessage): MessagePrinter => {
    if (type.typeName === 'google.protobuf.Timestamp') return proto3 ? standardTimestampPrinter : timestampPrinter;
    if (type.typeName === 'google.protobuf.Duration') return durationPrinter;
    if (type.typeName === 'google.protobuf.Any') return { print: printAny, wellKnown: true };
    if (proto3 && type.typeName === 'google.protobuf.FieldMask') return compileMask(type, printing);
    if (type.file.proto.package === 'google.protobuf' && bareTypes.has(type.name)) return compileBare(type, printing);
    return compileMessage(type, printing);
  };

  /** Type URLs of the message being printed that no registered type resolves, by type name. */
  let missing = new Map<string, string>();
  const printAny = (reader: WireReader): string => {
    const { typeUrl, typeName, start, end } = readAny(reader);
    const type = registry.getMessage(typeName);
    if (!type) {
      if (proto3 && typeUrl === '' && start === end) return '{}';
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
    const printer = bodies.get(name) ?? compileBare(type, printing, only);
    bodies.set(name, printer);
    return printer;
  };

  const toResult = <T>(json: T): Encoded<T> => {
    if (missing.size === 0) return { ok: true, json };
    const [typeUrl] = missing.values();
    return { ok: false, message: `unable to resolve type URL ${typeUrl}`, missingTypes: [...missing.keys()] };
  };
  const toFault = (error: unknown): Encoded & { ok: false } => {
    if (error instanceof JsonTooLargeError) return { ok: false, message: error.message, isTooLarge: true };
    if (error instanceof WireError) return { ok: false, message: error.message };
    throw error;
  };

  return {
    /** Wire bytes of `type` as JSON; with `only`, the JSON of that field alone. */
    encode(type: DescMessage, bytes: Uint8Array, only?: string): Encoded {
      try {
        const printer = only ? findBody(type, only) : find(type);
        missing = new Map();
        return toResult(printer.print(new WireReader(bytes), '{'));
      } catch (error) {
        return toFault(error);
      }
    },
    /** For large messages; other requests are answered in between. */
    async encodeInPieces(type: DescMessage, bytes: Uint8Array, only?: string): Promise<Encoded<Buffer>> {
      const own = new Map<string, string>();
      try {
        const printer = only ? findBody(type, only) : find(type);
        const json = await printInPieces({
          size: bytes.length,
          print: (pieces) => printer.print(Object.assign(new WireReader(bytes), { pieces }), '{'),
          around(run) {
            missing = own;
            run();
          },
        });
        missing = own;
        return toResult(json);
      } catch (error) {
        return toFault(error);
      }
    },
  };
}

export type Encoder = ReturnType<typeof createEncoder>;

const maxTypeUrl = 2_048; // bytes

export function readAny(reader: WireReader): { typeUrl: string; typeName: string; start: number; end: number } {
  let typeUrl = '';
  let { end: start, end } = reader;
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | wire.bytes)) {
      const at = reader.span();
      if (reader.pos - at > maxTypeUrl) throw new WireError('a type URL that is too long');
      typeUrl = reader.bytes.toString('utf8', at, reader.pos);
    } else if (tag === ((2 << 3) | wire.bytes)) {
      start = reader.span();
      end = reader.pos;
    } else if (tag >>> 3 <= 2) throw new WireError('wrong wire type in an Any');
    else reader.skip(tag);
  }
  return { typeUrl, typeName: typeUrl.slice(typeUrl.lastIndexOf('/') + 1), start, end };
}

/** A field mask is one text in standard JSON, its paths in the names of JSON. */
function compileMask(type: DescMessage, printing: Printing): MessagePrinter {
  const paths = compileBare(type, printing);
  const print = (reader: WireReader) =>
    quoteText(
      (JSON.parse(paths.print(Object.assign(reader.fork(), { pieces: undefined }), '{')) as string[])
        .map((path) => path.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()))
        .join(),
    );
  return { print, wellKnown: true };
}
