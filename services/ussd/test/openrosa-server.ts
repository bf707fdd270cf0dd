import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const md5 = (text: string) => createHash('md5').update(text).digest('hex');

export interface OpenRosaServer {
  url: string;
  /** The forms it lists, with the files they use. */
  forms: Map<string, { xml: string; version: string; media: Record<string, string> }>;
  /** What it has stored, by instance id. */
  stored: Map<string, string>;
  /** Submissions that have arrived whole, with those that were there before. */
  arrived: number;
  /** Bodies of submissions that it has read, those without credentials included. */
  uploads: number;
  /** What happens to the next submissions. */
  next: ('cut' | 'cut before' | number)[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A program with the form `short` of a server. */
export const surveyProgram = {
  'program.yaml': `name: survey
codes: ["*384*9#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home.title, options: [{ text: home.begin, to: survey }] }
  survey: { kind: form, form: forms/server/short.xml, to: thanks }
  thanks: { kind: page, text: home.thanks }
`,
  'locales/en.yaml': 'home: { title: Survey, begin: Begin, thanks: Thanks. }\n',
};

const user = 'gateway';
const password = 'open sesame';

/** An OpenRosa server with Digest authentication that breaks connections on demand. */
export async function startOpenRosaServer(): Promise<OpenRosaServer> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/projects/7`;
  const state: OpenRosaServer = {
    url,
    forms: new Map(),
    stored: new Map(),
    arrived: 0,
    uploads: 0,
    next: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method === 'POST') state.uploads++;
    if (!isAuthorized(request)) {
      const challenge = 'Digest realm="forms", qop="auth,auth-int", nonce="abc123", opaque="xyz"';
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return;
    }
    const path = (request.url ?? '').slice('/v1/projects/7'.length);
    if (path === '/submission') return store(request, response, Buffer.concat(chunks).toString('utf8'));
    const reply = read(path);
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': 'text/xml', 'x-openrosa-version': '1.0' });
    response.end(reply);
  }

  function read(path: string): string | undefined {
    const [, kind, id = '', name = ''] = path.split('/');
    const form = state.forms.get(id);
    if (kind === 'formList')
      return `<?xml version="1.0"?><xforms xmlns="http://openrosa.org/xforms/xformsList">${[...state.forms]
        .map(
          ([formId, { xml, version }]) =>
            `<xform><formID>${formId}</formID><name>A &amp; B</name><version>${version}</version><hash>md5:${md5(xml)}</hash>` +
            `<downloadUrl>${url}/form/${formId}</downloadUrl><manifestUrl>${url}/manifest/${formId}</manifestUrl></xform>`,
        )
        .join('')}</xforms>`;
    if (kind === 'form') return form?.xml;
    if (kind === 'media') return form?.media[name];
    return `<manifest xmlns="http://openrosa.org/xforms/xformsManifest">${Object.entries(form?.media ?? {})
      .map(
        ([file, text]) =>
          `<mediaFile><filename>${file}</filename><hash>md5:${md5(text)}</hash><downloadUrl>${url}/media/${id}/${file}</downloadUrl></mediaFile>`,
      )
      .join('')}</manifest>`;
  }

  function store(request: IncomingMessage, response: ServerResponse, body: string): void {
    const behaviour = state.next.shift();
    if (behaviour === 'cut before') {
      request.socket.destroy();
      return;
    }
    if (typeof behaviour === 'number') {
      response.writeHead(behaviour).end();
      return;
    }
    const [, xml = ''] = /name="xml_submission_file"[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(body) ?? [];
    const id = /<instanceID>([^<]+)/.exec(xml)?.[1] ?? '';
    const isKnown = state.stored.has(id);
    state.arrived++;
    state.stored.set(id, xml);
    // The network breaks after the server has it and before the gateway has the reply.
    if (behaviour === 'cut') request.socket.destroy();
    else response.writeHead(isKnown ? 202 : 201, { 'x-openrosa-version': '1.0' }).end('<OpenRosaResponse/>');
  }
  return state;
}

function isAuthorized({ headers, method = '', url = '' }: IncomingMessage): boolean {
  const given = headers.authorization ?? '';
  const field = (name: string) => new RegExp(`\\b${name}="?([^",]+)`).exec(given)?.[1] ?? '';
  const [ha1, ha2] = [md5(`${user}:forms:${password}`), md5(`${method}:${url}`)];
  const wanted = md5(`${ha1}:abc123:${field('nc')}:${field('cnonce')}:auth:${ha2}`);
  return given.startsWith('Digest ') && field('uri') === url && field('response') === wanted;
}

export const formsServerEnv = ({ url }: OpenRosaServer) => ({
  FORMS_SERVER: url,
  FORMS_SERVER_USER: user,
  FORMS_SERVER_PASSWORD: password,
});

export const formsServerCredentials = { user, password };
