import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, deflateRawSync, deflateSync } from 'node:zlib';

/** The one access token it takes. */
export const matrixToken = 'syt_secret';

export interface Homeserver {
  url: string;
  host: string;
  /** By media id. */
  media: Map<string, Buffer>;
  events: Map<string, object>;
  /** Whether it has the authenticated endpoint of Matrix 1.11. */
  modern: boolean;
  /** Whether it has its events in every room, or only in `!room:home.example`. */
  anyRoom: boolean;
  seen: { path: string; authorization: string | undefined }[];
  handle?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  close(): Promise<unknown>;
}

/** A homeserver as far as media go: the client-server API, its old and its new download endpoint, and events. */
export async function startHomeserver(): Promise<Homeserver> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    const { authorization } = request.headers;
    home.seen.push({ path, authorization });
    if (home.handle?.(request, response)) return;
    const refuse = (status: number, errcode: string) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ errcode, error: 'no' }));
    const event = /^\/_matrix\/client\/v3\/rooms\/([^/]+)\/event\/(.+)$/.exec(path);
    const mediaId = /^\/_matrix\/(client\/v1\/media|media\/v3)\/download\/home\.example\/(.+)$/.exec(path);
    const isNew = mediaId?.[1] === 'client/v1/media';
    if (isNew && !home.modern) return refuse(404, 'M_UNRECOGNIZED');
    if ((event || isNew) && authorization !== `Bearer ${matrixToken}`) return refuse(401, 'M_UNKNOWN_TOKEN');
    const body = event
      ? (home.anyRoom || event[1] === '!room:home.example') && home.events.get(event[2] ?? '')
      : home.media.get(mediaId?.[2] ?? '');
    if (!body) return refuse(404, 'M_NOT_FOUND');
    response.writeHead(200).end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const home: Homeserver = {
    url: `http://${host}`,
    host,
    media: new Map(),
    events: new Map(),
    modern: true,
    anyRoom: false,
    seen: [],
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
  return home;
}

/** The smallest PDF that says something. */
export function createPdf(text: string): Buffer {
  const content = `BT /F1 12 Tf 20 100 Td (${text}) Tj ET`;
  return toPdf(`<< /Length ${content.length} >>\nstream\n${content}\nendstream`);
}

/** A PDF of a few kilobytes whose page unpacks to that many megabytes. */
export function createPdfBomb(megabytes: number): Buffer {
  // Compressed pieces that end in a full flush can be strung together.
  const piece = deflateRawSync(Buffer.alloc(1024 * 1024, ' '), { finishFlush: constants.Z_FULL_FLUSH });
  const pieces = Array<Buffer>(megabytes).fill(piece);
  let packed = Buffer.concat([Buffer.from('789c', 'hex'), ...pieces, Buffer.from('0300', 'hex'), Buffer.alloc(4)]);
  for (let layer = 0; layer < 2; layer += 1) packed = deflateSync(packed, { level: 9 });
  const filters = '/Filter [/FlateDecode /FlateDecode /FlateDecode]';
  return toPdf(`<< /Length ${packed.length} ${filters} >>\nstream\n${packed.toString('latin1')}\nendstream`);
}

function toPdf(contents: string): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    contents,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let pdf = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = pdf.length;
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`;
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`;
  return Buffer.from(pdf + table + trailer, 'latin1');
}
