import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  create,
  type DescField,
  type DescMessage,
  type FileRegistry,
  fromJson,
  getOption,
  type JsonValue,
  type Message,
} from '@bufbuild/protobuf';
import { getMessage } from '../protocol.ts';

/** Faults with the paths to their fields: `fromJson` stops at the first and names no field inside a well-known type. */
function findFaults(protocol: FileRegistry, desc: DescMessage, json: unknown, path: string): string[] {
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
  // Such a field is text on the wire and a number to the node: "10.5" would decode here and break the node's reader.
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

const bundledFolder = fileURLToPath(new URL('../../seed', import.meta.url));

const seedFiles = [
  'agent-deposits.json',
  'agent.json',
  'balances.json',
  'claims.json',
  'collections.json',
  'disputes.json',
  'entities.json',
  'iid-documents.json',
  'intents.json',
  'member-budgets.json',
  'params.json',
  'token-properties.json',
  'tokens.json',
] as const;

type SeedFile = (typeof seedFiles)[number];

/** Files in `folder` replace the bundled ones. Every fault is added to `faults`. */
export async function readSeed(folder: string | undefined, faults: string[]): Promise<Record<SeedFile, unknown>> {
  const replaced = folder === undefined ? [] : await listJsonFiles(folder, faults);
  const entries = seedFiles.map(async (file) => {
    const text = await readFile(
      join(folder !== undefined && replaced.includes(file) ? folder : bundledFolder, file),
      'utf8',
    );
    try {
      return [file, JSON.parse(text)];
    } catch (error) {
      faults.push(`${file}: not JSON: ${(error as Error).message}`);
      return [file, undefined];
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function listJsonFiles(folder: string, faults: string[]): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    faults.push(`cannot be read: ${error.code}`);
    return [];
  });
  const found = names.filter((name) => name.endsWith('.json'));
  const known: readonly string[] = seedFiles;
  // A file of another name would be ignored silently, and with it what its author wanted to change.
  for (const name of found.filter((name) => !known.includes(name))) {
    faults.push(`${name}: no seed file has this name; there are ${seedFiles.join(', ')}`);
  }
  return found;
}

interface ParserParts {
  protocol: FileRegistry;
  files: Record<SeedFile, unknown>;
  faults: string[];
}

export function createSeedParser({ protocol, files, faults }: ParserParts) {
  const parse = <T extends Message>(path: string, typeName: string, json: unknown): T[] => {
    const desc = getMessage(protocol, typeName);
    const found = findFaults(protocol, desc, json, path);
    faults.push(...found);
    return found.length > 0 ? [] : [fromJson(desc, json as JsonValue) as T];
  };

  const parseList = <T extends Message>(file: SeedFile, typeName: string, toKey: (item: T) => string): T[] => {
    const list = files[file];
    if (list === undefined) return [];
    if (!Array.isArray(list)) {
      faults.push(`${file}: expected a list`);
      return [];
    }
    const keys = new Set<string>();
    return list.flatMap((json, index) => {
      const path = `${file}[${index}]`;
      const parsed = parse<T>(path, typeName, json);
      for (const key of parsed.map(toKey)) {
        if (key === '') faults.push(`${path}: the field it is found by is empty`);
        else if (keys.has(key)) faults.push(`${path}: ${key} is in the file twice`);
        keys.add(key);
      }
      return parsed;
    });
  };

  const parseParams = (module: 'entity' | 'claims' | 'token'): Message => {
    const typeName = `ixo.${module}.v1beta1.Params`;
    const json = (files['params.json'] as Record<string, unknown> | null | undefined)?.[module];
    const [params] = parse(`params.json.${module}`, typeName, json);
    return params ?? create(getMessage(protocol, typeName));
  };

  return { parse, parseList, parseParams };
}
