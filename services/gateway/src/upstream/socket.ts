// The socket of a session, and what its errors mean.
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';

const maxCause = 200;
export const hungUp = 'the node ended the connection';
const tlsNeeded = 'it may expect TLS: then its address needs tls://';

/** As `node:http2` opens it. A session that makes its own socket can also destroy it. */
export function openSocket({ origin, ca }: { origin: string; ca?: string | undefined }): Socket {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return connectPlain({ host, port: Number(port) || 80 });
  const trust = ca !== undefined && { ca };
  const name = isIP(host) === 0 && { servername: host };
  return connectTls({ host, port: Number(port) || 443, ...trust, ...name, ALPNProtocols: ['h2'] });
}

/** The cause for people: one line, without the addresses and source files that OpenSSL puts into its errors. */
export function toCause(error: Error, socket: Socket, wasOpening: boolean): Error {
  const code = 'code' in error ? error.code : undefined;
  if (wasOpening && (code === 'ERR_HTTP2_ERROR' || code === 'ECONNRESET' || error.message === hungUp)) {
    const said = code === 'ERR_HTTP2_ERROR' ? 'the node does not speak HTTP/2' : hungUp;
    return new Error(socket instanceof TLSSocket ? said : `${said} (${tlsNeeded})`);
  }
  if ('library' in error && 'reason' in error) {
    const reason = String(error.reason);
    const hint = tlsHints.find(([pattern]) => pattern.test(reason))?.[1];
    return new Error(`TLS failed: ${reason}${hint ? ` (${hint})` : ''}`);
  }
  return new Error(error.message.replace(/\s+/g, ' ').trim().slice(0, maxCause));
}

const tlsHints: [RegExp, string][] = [
  [/certificate required/, 'the node wants a client certificate, and the gateway has none'],
  [/alert (?:handshake failure|bad certificate)/, 'the node may want a client certificate, and the gateway has none'],
  [/wrong version number|packet length too long/, 'the node does not speak TLS: its address needs no tls://'],
];
