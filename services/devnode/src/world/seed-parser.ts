import { create, type FileRegistry, fromJson, type JsonValue, type Message } from '@bufbuild/protobuf';
import { getMessage } from '../protocol.ts';
import { findFaults } from './find-faults.ts';
import type { SeedFile } from './read-seed.ts';

interface ParserParts {
  protocol: FileRegistry;
  files: Record<SeedFile, unknown>;
  /** Gathers what is wrong; parsing continues, so that one error has all of it. */
  faults: string[];
}

/** Converts seed JSON to messages. A faulty one is left out and reported. */
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
