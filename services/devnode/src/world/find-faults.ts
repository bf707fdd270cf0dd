import {
  type DescField,
  type DescMessage,
  type FileRegistry,
  fromJson,
  getOption,
  type JsonValue,
} from '@bufbuild/protobuf';

/**
 * What is wrong with the JSON of a message, each fault with the path to its field. `fromJson` alone stops at the first
 * fault and, inside a well-known type such as a time, names no field at all.
 */
export function findFaults(protocol: FileRegistry, desc: DescMessage, json: unknown, path: string): string[] {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) return [`${path}: expected an object`];
  const faults = Object.entries(json).flatMap(([key, value]) => {
    const at = `${path}.${key}`;
    const field = desc.fields.find(({ name, jsonName }) => name === key || jsonName === key);
    if (!field) return [`${at}: ${desc.typeName} has no such field`];
    if (value === null) return [];
    if (!field.message || field.message.typeName.startsWith('google.protobuf.')) {
      return findValueFaults(protocol, field, key, value).map((fault) => `${at}: ${fault}`);
    }
    if (field.fieldKind !== 'list') return findFaults(protocol, field.message, value, at);
    if (!Array.isArray(value)) return [`${at}: expected a list`];
    const inner = field.message;
    return value.flatMap((item, index) => findFaults(protocol, inner, item, `${at}[${index}]`));
  });
  return faults.length > 0 ? faults : findDecodeFaults(desc, json as JsonValue).map((fault) => `${path}: ${fault}`);
}

function findValueFaults(protocol: FileRegistry, field: DescField, key: string, value: JsonValue): string[] {
  const faults = findDecodeFaults(field.parent, { [key]: value });
  const customType = protocol.getExtension('gogoproto.customtype');
  // Such a field is text on the wire and a number to the node: "10.5" would decode here and break its reader.
  if (faults.length === 0 && customType && getOption(field, customType) && !/^-?\d+$/.test(String(value))) {
    return ['expected a whole number in decimal digits (decimals are written times 10^18)'];
  }
  return faults;
}

function findDecodeFaults(desc: DescMessage, json: JsonValue): string[] {
  try {
    fromJson(desc, json);
    return [];
  } catch (error) {
    return [(error as Error).message.replace(/^cannot decode .* from JSON: /, '')];
  }
}
