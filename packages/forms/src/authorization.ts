import { createHash, randomBytes } from 'node:crypto';

export interface Credentials {
  user: string;
  password: string;
}

export interface Challenged {
  method: string;
  /** Path and query. */
  path: string;
  /** The header `WWW-Authenticate`. */
  challenge: string;
}

/** The header `Authorization` that a server asks for: Digest (RFC 7616) before Basic. */
export function authorize({ user, password }: Credentials, request: Challenged): string | undefined {
  const { method, path, challenge } = request;
  const digest = /\bDigest\s+(.*)$/is.exec(challenge)?.[1];
  if (digest === undefined)
    return /\bBasic\b/i.test(challenge) ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` : undefined;
  const field = (name: string) => {
    const [, quoted, plain] = new RegExp(`\\b${name}=(?:"([^"]*)"|([^\\s,]+))`, 'i').exec(digest) ?? [];
    return quoted ?? plain;
  };
  const {
    realm = '',
    nonce = '',
    opaque,
    algorithm = 'MD5',
  } = {
    realm: field('realm'),
    nonce: field('nonce'),
    opaque: field('opaque'),
    algorithm: field('algorithm'),
  };
  const name = /^SHA-256$/i.test(algorithm) ? 'sha256' : /^MD5$/i.test(algorithm) ? 'md5' : undefined;
  if (!name) return undefined;
  const hash = (text: string) => createHash(name).update(text).digest('hex');
  const [ha1, ha2] = [hash(`${user}:${realm}:${password}`), hash(`${method}:${path}`)];
  const hasQop =
    field('qop')
      ?.split(/\s*,\s*/)
      .includes('auth') ?? false;
  const cnonce = randomBytes(12).toString('hex');
  const count = '00000001';
  const response = hash(hasQop ? `${ha1}:${nonce}:${count}:${cnonce}:auth:${ha2}` : `${ha1}:${nonce}:${ha2}`);
  const quoted = (value: string) => `"${value.replace(/["\\]/g, '\\$&')}"`;
  return `Digest ${[
    `username=${quoted(user)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(path)}`,
    `algorithm=${algorithm}`,
    `response="${response}"`,
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ...(hasQop ? ['qop=auth', `nc=${count}`, `cnonce="${cnonce}"`] : []),
  ].join(', ')}`;
}
