import { createHash, randomBytes } from 'node:crypto';
import { fetchBounded } from '@palaver/service-kit/internal';

export interface ListedForm {
  formId: string;
  version: string;
  /** Of the form, as `md5:…`. */
  hash: string;
  downloadUrl: string;
  manifestUrl?: string;
}

/** `refused`: sending it again cannot help. */
type Sent = { ok: true } | { ok: false; refused: boolean; fault: string };

interface OpenRosaOptions {
  /** Without a slash at its end. */
  server: string;
  credentials?: Credentials | undefined;
  timeoutMs?: number;
}

const maxBytes = 8_000_000;
const isBasic = (challenge: string | undefined) => challenge !== undefined && !/\bDigest\b/i.test(challenge);

export function createOpenRosaClient({ server, credentials, timeoutMs = 20_000 }: OpenRosaOptions) {
  const { origin, protocol, hostname } = new URL(server);
  const isPrivate = protocol === 'https:' || ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);

  let known: string | undefined;

  async function request(url: string, init: { method: string; body?: FormData }): Promise<Response> {
    // Credentials and forms stay with the server that was configured.
    if (new URL(url).origin !== origin) throw new Error('the server names an address of another server');
    const { pathname, search } = new URL(url);
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = { 'x-openrosa-version': '1.0', date: new Date().toUTCString() };
    const sendBy = (challenge: string | undefined, sent: typeof init) => {
      const { method } = sent;
      const authorization =
        challenge && credentials && authorize(credentials, { method, path: `${pathname}${search}`, challenge });
      const own = authorization ? { ...headers, authorization } : headers;
      return fetchBounded(url, { ...sent, headers: own, signal, timeoutMs, maxBytes, redirect: 'manual' });
    };
    /** ODK Central takes Basic and does not say so. Unasked, a password is sent only where nobody can read it. */
    const challengeOf = (response: Response) =>
      response.status === 401
        ? (response.headers.get('www-authenticate') ?? (isPrivate ? 'Basic' : undefined))
        : undefined;

    // Ask how to authenticate before a body is sent: otherwise it may be refused and sent again. A nonce is valid once.
    if (init.body && credentials && !isBasic(known)) {
      const probe = await sendBy(undefined, { method: 'HEAD' });
      known = challengeOf(probe) ?? known;
    }
    const first = await sendBy(init.body && known, init);
    const challenge = challengeOf(first);
    if (!challenge || !credentials) return first;
    // Basic credentials that were refused are wrong: the next body asks again. Anything else is sent once more as the server asks.
    const isRefused = init.body && isBasic(known) && isBasic(challenge);
    known = isRefused ? undefined : challenge;
    if (isRefused || !authorize(credentials, { method: init.method, path: pathname, challenge })) return first;
    return sendBy(challenge, init);
  }

  async function read(url: string): Promise<string> {
    const response = await request(url, { method: 'GET' });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.text();
  }

  return {
    async listForms() {
      return elementsOf(await read(`${server}/formList`), 'xform').map((xform) => {
        const manifestUrl = textOf(xform, 'manifestUrl');
        return {
          formId: textOf(xform, 'formID'),
          version: textOf(xform, 'version'),
          hash: textOf(xform, 'hash'),
          downloadUrl: textOf(xform, 'downloadUrl'),
          ...(manifestUrl !== '' && { manifestUrl }),
        };
      });
    },
    async listMedia({ manifestUrl }: ListedForm) {
      if (manifestUrl === undefined) return [];
      return elementsOf(await read(manifestUrl), 'mediaFile').map((file) => ({
        filename: textOf(file, 'filename'),
        hash: textOf(file, 'hash'),
        downloadUrl: textOf(file, 'downloadUrl'),
      }));
    },
    download: read,
    async send(instanceId: string, xml: string): Promise<Sent> {
      const body = new FormData();
      body.set('xml_submission_file', new File([xml], 'submission.xml', { type: 'text/xml' }), 'submission.xml');
      const url = `${server}/submission`;
      try {
        const response = await request(url, { method: 'POST', body });
        if (response.status === 201 || response.status === 202) return { ok: true };
        // 401 and 403 end when the credentials are put right, 404 when the form is published.
        const refused = [400, 405, 406, 409, 413, 415, 422].includes(response.status);
        return { ok: false, refused, fault: `status ${response.status} for ${instanceId}` };
      } catch (error) {
        const { name, message, cause } = error as Error;
        const fault =
          name === 'TimeoutError' ? 'no answer in time' : ((cause as Error | undefined)?.message ?? message);
        return { ok: false, refused: false, fault };
      }
    },
  };
}

export type OpenRosaClient = ReturnType<typeof createOpenRosaClient>;

/** OpenRosa lists are flat. Tag by tag, because a pattern for a whole element reads to the end from each opening. */
export function elementsOf(xml: string, name: string): string[] {
  const elements: string[] = [];
  const tags = new RegExp(`<(/?)(?:\\w{1,40}:)?${name}[\\s>]`, 'g');
  let start: number | undefined;
  for (let tag = tags.exec(xml); tag; tag = tags.exec(xml)) {
    const isEnd = tag[1] === '/';
    if (isEnd && start !== undefined) elements.push(xml.slice(start, tag.index));
    start = isEnd ? undefined : tags.lastIndex;
  }
  return elements;
}

function textOf(xml: string, name: string): string {
  const [, text = ''] = new RegExp(`<(?:\\w{1,40}:)?${name}>([^<]*)<`).exec(xml) ?? [];
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return text.trim().replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? '');
}

interface Credentials {
  user: string;
  password: string;
}

/** The header `Authorization` that a server asks for: Digest (RFC 7616) before Basic. */
function authorize(
  { user, password }: Credentials,
  { method, path, challenge }: { method: string; path: string; challenge: string },
): string | undefined {
  const digest = /\bDigest\s+(.*)$/is.exec(challenge)?.[1];
  if (digest === undefined)
    return /\bBasic\b/i.test(challenge) ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` : undefined;
  const field = (name: string) => {
    const [, quoted, plain] = new RegExp(`\\b${name}=(?:"([^"]*)"|([^\\s,]+))`, 'i').exec(digest) ?? [];
    return quoted ?? plain;
  };
  const [realm = '', nonce = '', opaque, algorithm = 'MD5'] = ['realm', 'nonce', 'opaque', 'algorithm'].map(field);
  const name = /^SHA-256$/i.test(algorithm) ? 'sha256' : /^MD5$/i.test(algorithm) ? 'md5' : undefined;
  if (!name) return undefined;
  const hash = (text: string) => createHash(name).update(text).digest('hex');
  const [ha1, ha2] = [hash(`${user}:${realm}:${password}`), hash(`${method}:${path}`)];
  const hasQop = (field('qop') ?? '').split(/\s*,\s*/).includes('auth');
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
