import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { GatewayErrorBody } from '@palaver/contract/internal';
import { StartError } from '@palaver/service-kit';
import type { Interceptor } from './upstream/call.ts';

export interface Extensions {
  /** The metadata name under which a request header goes up to the node; undefined leaves the usual rule. */
  matchHeader?(name: string): string | undefined;
  /** The body of an error in another shape. */
  writeError?(body: GatewayErrorBody): object;
  /** Around every query, the first one outermost. The time limit and retries are inside. */
  interceptors?: Interceptor[];
}

const names = ['matchHeader', 'writeError', 'interceptors'];

export async function loadExtensions(path: string | undefined): Promise<Extensions> {
  if (path === undefined) return {};
  const loaded: object = await import(pathToFileURL(resolve(path)).href).catch((error: Error) => {
    throw new StartError(`GATEWAY_EXTENSIONS=${path}: ${error.message}`, { cause: error });
  });
  if (!names.some((name) => name in loaded))
    throw new StartError(`GATEWAY_EXTENSIONS=${path}: the module exports none of ${names.join(', ')}`);
  return loaded;
}

export async function loadCertificates(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new StartError(`GATEWAY_TLS_CA_FILE: ${path} cannot be read`, { cause: error });
  });
}
