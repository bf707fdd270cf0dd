import type { IncomingHttpHeaders } from 'node:http';
import { heightHeader, minHeightHeader } from '@palaver/contract/internal';
import type { Extensions } from './extensions.ts';
import { type Metadata, parseGrpcTimeout } from './upstream/call.ts';

const prefix = 'grpc-metadata-';
export const shownPrefix = toTitleCase(prefix);
export const shownHeightHeader = toTitleCase(heightHeader);
/** The headers that choose a height: any answer depends on them. */
const heightHeaders = [heightHeader, prefix + heightHeader, minHeightHeader];
/** The headers of credentials that become metadata whatever the settings are. */
const credentialHeaders = [`${prefix}authorization`, `${prefix}cookie`];
const varied = new Set([...heightHeaders, ...credentialHeaders, 'authorization']);

/** What every `Vary` names; `authorization` where it is read or sent on. */
export function toVary(hasKeys: boolean, { forwardAuth }: { forwardAuth: boolean }): string[] {
  const own = hasKeys ? ['authorization', 'x-api-key'] : forwardAuth ? ['authorization'] : [];
  return ['accept-encoding', ...heightHeaders, ...credentialHeaders, ...own].map(toTitleCase);
}

const metadataName = /^[0-9a-z_.-]+$/;
const printable = /^[\x20-\x7e]*$/;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Names that belong to HTTP/2 or to gRPC itself: sent up they would break the call or change its meaning. */
const reserved =
  /^(?:grpc-.*|te|content-type|content-length|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|host|http2-settings|user-agent|trailer)$/;
const credentials = new Set(['authorization', 'cookie', 'proxy-authorization']);
const maxHeight = 2n ** 63n - 1n;
const maxBytes = 8 * 1024;

export interface RequestMetadata {
  metadata: Metadata;
  /** The pinned height, empty for the latest. */
  height: string;
  /** The height below which the client does not want to go back, 0 for none. */
  minHeight: number;
  timeoutMs: number;
  /** Whether something in it may entitle its sender to more than others see. */
  hasCredentials: boolean;
  /** Headers that became metadata, those of every `Vary` aside. */
  otherHeaders: string[];
  key: string;
}

type ReadMetadata = ({ ok: true } & RequestMetadata) | { ok: false; message: string };

export interface MetadataOptions {
  timeoutMs: number;
  forwardAuth: boolean;
  matchHeader?: Extensions['matchHeader'];
}

export function readMetadata(headers: IncomingHttpHeaders, options: MetadataOptions): ReadMetadata {
  const metadata: Metadata = {};
  const otherHeaders: string[] = [];
  let key = '';
  let size = 0;
  let hasCredentials = false;
  let { timeoutMs } = options;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== 'string' && !Array.isArray(value)) continue;
    const text = Array.isArray(value) ? value.join(',') : value;
    if (name === 'grpc-timeout') {
      const asked = parseGrpcTimeout(text);
      if (asked === undefined) return { ok: false, message: `invalid grpc-timeout: ${text}` };
      timeoutMs = Math.min(timeoutMs, asked);
      continue;
    }
    const target = options.matchHeader?.(name) ?? toMetadataName(name, options);
    if (target === undefined) continue;
    if (!metadataName.test(target) || reserved.test(target) || !printable.test(text))
      return { ok: false, message: `the header ${name} cannot be sent on as metadata` };
    if (target.endsWith('-bin') && !base64.test(text)) return { ok: false, message: `invalid binary header ${name}` };
    metadata[target] = text;
    hasCredentials ||= credentials.has(target);
    if (!varied.has(name)) otherHeaders.push(toTitleCase(name));
    key += `${target}\n${text}\n`;
    size += target.length + text.length;
  }
  if (size > maxBytes) return { ok: false, message: `more than ${maxBytes} bytes of metadata` };
  const height = parseHeight(metadata[heightHeader]);
  const minHeight = parseHeight(headers[minHeightHeader]);
  if (height === undefined) return invalidHeight(heightHeader, metadata[heightHeader]);
  if (minHeight === undefined || !Number.isSafeInteger(Number(minHeight)))
    return invalidHeight(minHeightHeader, headers[minHeightHeader]);
  return { ok: true, metadata, height, minHeight: Number(minHeight), timeoutMs, key, otherHeaders, hasCredentials };
}

function toMetadataName(name: string, { forwardAuth }: MetadataOptions): string | undefined {
  if (name === heightHeader || (name === 'authorization' && forwardAuth)) return name;
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

/** The digits of a height; empty for none and for 0, which nodes read as the latest. */
function parseHeight(value: string | string[] | undefined): string | undefined {
  if (value === undefined) return '';
  const digits = String(value).trim();
  if (!/^\d{1,19}$/.test(digits) || BigInt(digits) > maxHeight) return undefined;
  return /^0+$/.test(digits) ? '' : digits;
}

function invalidHeight(header: string, value: string | string[] | undefined): ReadMetadata {
  return { ok: false, message: `invalid height header ${header}: ${String(value).slice(0, 40)}` };
}

/** An answer's metadata under the prefix, names and values alternating; the height also goes by its own name. */
export function toHeaders(metadata: Metadata): string[] {
  const headers: string[] = [];
  for (const name in metadata) {
    const value = String(metadata[name]);
    if (!metadataName.test(name) || !printable.test(value)) continue;
    headers.push(prefix + name, value);
    if (name === heightHeader) headers.push(heightHeader, value);
  }
  return headers;
}

function toTitleCase(name: string): string {
  return name.replace(/(^|-)([a-z])/g, (_match, dash: string, letter: string) => dash + letter.toUpperCase());
}
