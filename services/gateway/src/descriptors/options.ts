// Reads extension options (`google.api.http`, `gogoproto`) as raw bytes, without the files that declare them.
import type { DescField, DescMethod } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt';

interface WithUnknown {
  $unknown?: { no: number; wireType: WireType; data: Uint8Array }[] | undefined;
}

export interface HttpRule {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH' | 'CUSTOM';
  path: string;
  responseBody: string;
}

export interface FieldRules {
  nullable: boolean;
  customType: string;
  castType: string;
  stdTime: boolean;
  stdDuration: boolean;
  /** The tag of the Go field for encoding/json, where it is set. */
  jsonTag: string | undefined;
}

const httpExtension = 72295728;
const gogo = {
  nullable: 65001,
  customType: 65003,
  jsonTag: 65005,
  castType: 65007,
  stdTime: 65010,
  stdDuration: 65011,
};
const gogoFlags = ['nullable', 'stdTime', 'stdDuration'];
const httpTexts = { get: 2, put: 3, post: 4, delete: 5, patch: 6, body: 7, response_body: 12 };
const httpBindings = 11;
const verbOfField: Record<number, HttpRule['method']> = { 2: 'GET', 3: 'PUT', 4: 'POST', 5: 'DELETE', 6: 'PATCH' };

/** The main rule of a method, then its additional bindings in declaration order. */
export function readHttpRules(method: DescMethod): HttpRule[] {
  const bytes = lastUnknown(method.proto.options, httpExtension)?.bytes();
  return bytes ? parseRule(bytes) : [];
}

export function readFieldRules(field: DescField): FieldRules {
  const { options } = field.proto;
  return {
    nullable: lastVarint(options, gogo.nullable) !== 0,
    customType: lastText(options, gogo.customType),
    castType: lastText(options, gogo.castType),
    stdTime: lastVarint(options, gogo.stdTime) === 1,
    stdDuration: lastVarint(options, gogo.stdDuration) === 1,
    jsonTag: lastText(options, gogo.jsonTag) || undefined,
  };
}

export function hasPresence({ presence }: DescField): boolean {
  return presence !== Presence.IMPLICIT;
}

/** Whether messages of a field begin and end with a tag: groups of proto2, DELIMITED fields of editions. */
export function isDelimited(field: DescField): boolean {
  return 'delimitedEncoding' in field && field.delimitedEncoding;
}

export type HttpRuleText = Partial<Record<keyof typeof httpTexts, string>> & {
  additional_bindings?: HttpRuleText | HttpRuleText[];
};

export function writeHttpRule(rule: HttpRuleText): Uint8Array<ArrayBuffer> {
  return new BinaryWriter().uint32(tag(httpExtension)).bytes(writeRule(rule)).finish();
}

/** The bytes of gogoproto's options by their names in a `.proto` file, without those that do not change the JSON. */
export function writeFieldRules(options: Record<string, unknown>): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const [name, no] of Object.entries(gogo)) {
    const value = options[`(gogoproto.${name.toLowerCase()})`];
    if (value === undefined) continue;
    if (gogoFlags.includes(name)) writer.uint32(tag(no, WireType.Varint)).bool(value === true || value === 'true');
    else writer.uint32(tag(no)).string(String(value));
  }
  return writer.finish();
}

function tag(no: number, wireType: WireType = WireType.LengthDelimited): number {
  return ((no << 3) | wireType) >>> 0;
}

function writeRule(rule: HttpRuleText): Uint8Array {
  const writer = new BinaryWriter();
  for (const [name, no] of Object.entries(httpTexts)) {
    const value = rule[name as keyof typeof httpTexts];
    if (value !== undefined) writer.uint32(tag(no)).string(value);
  }
  for (const binding of [rule.additional_bindings ?? []].flat())
    writer.uint32(tag(httpBindings)).bytes(writeRule(binding));
  return writer.finish();
}

function parseRule(bytes: Uint8Array): HttpRule[] {
  const reader = new BinaryReader(bytes);
  const rule: HttpRule = { method: 'CUSTOM', path: '', responseBody: '' };
  const more: HttpRule[] = [];
  while (reader.pos < reader.len) {
    const [no, wireType] = reader.tag();
    const verb = verbOfField[no];
    if (verb) {
      rule.method = verb;
      rule.path = reader.string();
    } else if (no === httpTexts.response_body) rule.responseBody = reader.string();
    else if (no === httpBindings) more.push(...parseRule(reader.bytes()));
    else reader.skip(wireType, no);
  }
  return [rule, ...more];
}

function lastUnknown(options: WithUnknown | undefined, no: number): BinaryReader | undefined {
  const found = options?.$unknown?.findLast((field) => field.no === no);
  return found && new BinaryReader(found.data);
}

function lastText(options: WithUnknown | undefined, no: number): string {
  return lastUnknown(options, no)?.string() ?? '';
}

function lastVarint(options: WithUnknown | undefined, no: number): number | undefined {
  return lastUnknown(options, no)?.uint32();
}
