import { readFile } from 'node:fs/promises';
import { StartError } from '@palaver/service-kit';

/** The certificates of `GATEWAY_TLS_CA_FILE`, where it is set. */
export async function loadCertificates(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new StartError(`GATEWAY_TLS_CA_FILE: ${path} cannot be read`, { cause: error });
  });
}
