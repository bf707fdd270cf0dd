import type { IncomingMessage } from 'node:http';
import { isAllowedHost, openPublic, RefusedAddressError } from '@palaver/ucan/open-public';

export interface GuardedGetOptions {
  token: string | undefined;
  signal: AbortSignal;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: string[];
  /** Name servers instead of the machine's. */
  dnsServers: string[];
  /** Called for every chunk; throws to end the transfer. */
  onBytes(count: number): void;
}

export interface GuardedReply {
  status: number;
  body: Buffer;
}

/** Why there is no answer, in words for the user. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

const maxRedirects = 3;

/** Fetches from a host a stranger named. Every redirect is checked again; the token stays with the origin it was meant for. */
export async function guardedGet(start: URL, options: GuardedGetOptions): Promise<GuardedReply> {
  let url = start;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const token = url.origin === start.origin ? options.token : undefined;
    const headers = { accept: '*/*', ...(token && { authorization: `Bearer ${token}` }) };
    const isAllowed = isAllowedFrom(start, url, options.allowedHosts);
    const { signal, dnsServers } = options;
    const response = await openPublic(url, { signal, dnsServers, headers, isAllowed }).catch((error: unknown) => {
      throw error instanceof RefusedAddressError ? new UnreachableError(error.message) : error;
    });
    const { statusCode: status = 0 } = response;
    const { location } = response.headers;
    if (status >= 300 && status < 400 && location !== undefined && URL.canParse(location, url.href)) {
      response.destroy();
      url = new URL(location, url);
      continue;
    }
    return { status, body: await readBody(response, options.onBytes) };
  }
  throw new UnreachableError('it is redirected too often');
}

/** Whether a host may be private. Redirects of strangers lead to none: they would choose the path and the port on it. */
export function isAllowedFrom(start: URL, url: URL, allowedHosts: string[]): boolean {
  return [start, url].every((each) => isAllowedHost(each, allowedHosts));
}

async function readBody(response: IncomingMessage, onBytes: (count: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // Leaving the loop early, as by a limit, closes the connection.
  for await (const chunk of response) {
    onBytes(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
