import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';

// A connection to a node: `node:http2` with a limit on every wait and one callback for each call.

export interface SessionOptions {
  origin: string;
  ca?: string | undefined;
  /** The node has sent its settings: it speaks HTTP/2. */
  onReady(): void;
  /** The session takes no new calls; running ones may still end. `isOrderly` if the node found no fault. */
  onLeave(cause: Error, isOrderly: boolean): void;
  onEnd(cause: Error): void;
}

/** Names and values alternating. */
export type Fields = string[];

export interface Received {
  headers: Fields | undefined;
  trailers: Fields | undefined;
  /** How the stream ended early: the code of its reset, with its connection, or because one side broke the protocol. */
  lost: number | 'connection' | 'breach' | undefined;
}

interface CallHandlers {
  /** Looks at the headers of the answer; false gives the call up. */
  accept(headers: Fields): boolean;
  /** Takes a part of the body; false gives the call up. */
  take(chunk: Buffer): boolean;
  onEnd(received: Received): void;
}

const connectTimeoutMs = 3_000;
/** Large answers must not wait for window updates: the window holds a whole one of the usual size. */
const streamWindow = 4 * 1024 * 1024;
const sessionWindow = 32 * 1024 * 1024;
/** Nodes refuse to send more than this as headers and trailers. */
const maxHeaderListSize = 64 * 1024;
const maxSessionMemory = 128; // MB
const lifeCheckMs = 1_000;
/** How long a node may be silent while calls wait for it, and then how long to a ping. */
const maxSilenceMs = 3_000;
/** How long it may be silent where it may not be pinged. */
const maxUnprovenMs = 10_000;
/** grpc-go takes this many pings from a client that it sends nothing else, then one every five minutes. */
const freePings = 3;
const pingEveryMs = 5 * 60_000;

export class Session {
  private readonly options: SessionOptions;
  private readonly session: ClientHttp2Session;
  private readonly socket: Socket;
  private readonly connectTimer: NodeJS.Timeout;
  private readonly lifeTimer: NodeJS.Timeout;
  private state: 'opening' | 'open' | 'leaving' | 'ended' = 'opening';
  private isAccused = false;
  private readonly calls = new Set<(lost: Received['lost']) => void>();
  private bytesRead = 0;
  /** Since when a call has been sent and nothing has come, not even for a call that was given up. */
  private quietSince: number | undefined;
  /** Pings since the node last answered a call. */
  private pings = 0;
  private pingedAt = 0;
  private isPinged = false;

  constructor(options: SessionOptions) {
    this.options = options;
    this.socket = openSocket(options);
    this.session = connect(options.origin, {
      createConnection: () => this.socket,
      settings: { enablePush: false, initialWindowSize: streamWindow, maxHeaderListSize },
      maxSessionMemory,
      // Error texts of nodes begin and end with spaces.
      strictFieldWhitespaceValidation: false,
    });
    const seconds = connectTimeoutMs / 1000;
    this.connectTimer = setTimeout(() => this.end(new Error(`no HTTP/2 within ${seconds} s`)), connectTimeoutMs);
    this.lifeTimer = setInterval(() => this.checkLife(), lifeCheckMs).unref();
    this.session.once('remoteSettings', () => {
      if (this.state !== 'opening') return;
      clearTimeout(this.connectTimer);
      this.session.setLocalWindowSize(sessionWindow);
      this.state = 'open';
      options.onReady();
    });
    this.session.on('goaway', (code, _lastStream, data) => {
      this.isAccused = accusations.has(code);
      const reason = data ? ` ${JSON.stringify(Buffer.from(data).toString('latin1', 0, maxCause))}` : '';
      this.leave(new Error(`the node ended the session (HTTP/2 code ${code}${reason})`), code === 0);
    });
    this.session.on('error', (error) => this.end(error));
    this.session.on('close', () => this.end());
    // After an alert that follows the handshake, `node:http2` emits neither, and leaves the socket open.
    this.socket.on('error', (error) => this.end(error));
    // `node:http2` is notified too, and ends the calls whose answers are complete.
    this.socket.on('close', () => setImmediate(() => this.end()));
    this.session.unref();
  }

  isOpen(): boolean {
    return this.state === 'open' && !this.session.closed && !this.session.destroyed;
  }

  /** Sends one message as a call and returns a function that cancels it. Throws for fields that no request can have. */
  request(fields: Fields, body: Buffer, { accept, take, onEnd }: CallHandlers): () => void {
    const stream = this.session.request(fields, requestOptions);
    const received: Received = { headers: undefined, trailers: undefined, lost: undefined };
    let error: Error | undefined;
    const end = (lost: Received['lost']) => {
      if (!this.calls.delete(end)) return;
      received.lost = lost;
      onEnd(received);
      if (this.state === 'leaving' && this.calls.size === 0) this.end();
    };
    this.calls.add(end);
    this.quietSince ??= performance.now();
    const giveUp = () => {
      if (!this.calls.has(end)) return;
      stream.close(constants.NGHTTP2_CANCEL);
      end(constants.NGHTTP2_CANCEL);
    };
    stream.on('response', (_headers, flags, fieldsOfAnswer: Fields) => {
      this.pings = 0;
      received.headers = fieldsOfAnswer;
      // A failure may come as one block of headers ("trailers only").
      if (flags & constants.NGHTTP2_FLAG_END_STREAM) end(undefined);
      else if (!accept(fieldsOfAnswer)) giveUp();
    });
    stream.on('data', (chunk: Buffer) => {
      this.pings = 0;
      if (this.calls.has(end) && !take(chunk)) giveUp();
    });
    stream.on('trailers', (_headers, _flags, fieldsOfEnd: Fields) => {
      received.trailers = fieldsOfEnd;
      while (stream.readableLength > 0 && stream.read() !== null); // emits `data`
      end(undefined);
    });
    stream.on('error', (fault: Error) => (error = fault)); // followed by `close`
    stream.on('close', () => end(this.whyLost(stream, error)));
    stream.end(body);
    return giveUp;
  }

  /** Everything that ends the session comes here; only the first cause counts. */
  end(cause = new Error(hungUp)): void {
    if (this.state === 'ended') return;
    const wasOpening = this.state === 'opening';
    this.state = 'ended';
    clearTimeout(this.connectTimer);
    clearInterval(this.lifeTimer);
    const shown = toCause(cause, this.socket, wasOpening);
    this.session.destroy();
    // Streams that are closed say how their calls ended; not all are.
    setImmediate(() => {
      this.socket.destroy();
      for (const endCall of [...this.calls]) endCall('connection');
    });
    this.options.onEnd(shown);
  }

  private leave(cause: Error, isOrderly: boolean): void {
    if (this.state === 'open') {
      this.state = 'leaving';
      this.options.onLeave(cause, isOrderly);
    }
    if (this.calls.size === 0) this.end(cause);
  }

  private whyLost({ rstCode }: ClientHttp2Stream, error: Error | undefined): Received['lost'] {
    if (!this.session.destroyed) return rstCode === constants.NGHTTP2_NO_ERROR ? undefined : rstCode;
    const isBreach = error && 'code' in error && error.code === 'ERR_HTTP2_ERROR';
    return isBreach || this.isAccused ? 'breach' : 'connection';
  }

  /** Finds a dead connection by a ping that is not answered. Idle nodes are left alone: they count pings. */
  private checkLife(): void {
    if (this.state === 'opening') return;
    const now = performance.now();
    const { bytesRead } = this.socket;
    // Whatever comes is a sign of life, also the answer to a ping.
    if (bytesRead !== this.bytesRead) {
      this.bytesRead = bytesRead;
      this.quietSince = this.calls.size > 0 ? now : undefined;
      this.isPinged = false;
      return;
    }
    if (this.isPinged) {
      if (now - this.pingedAt >= maxSilenceMs) this.end(new Error('the node does not answer pings'));
      return;
    }
    const quietMs = this.quietSince === undefined ? 0 : now - this.quietSince;
    if (quietMs < maxSilenceMs) return;
    if (this.pings < freePings || now - this.pingedAt >= pingEveryMs) {
      this.session.ping(() => undefined);
      this.pingedAt = now;
      this.isPinged = true;
      this.pings += 1;
    } else if (quietMs >= maxUnprovenMs) {
      // The node may be slow or gone. A new session shows which, and the calls of this one may still be answered.
      this.leave(new Error(`the node has sent nothing for ${maxUnprovenMs / 1000} s`), true);
    }
  }
}

const requestOptions = { endStream: false };

/** With these codes a node says that it was sent what HTTP/2 does not allow. */
const accusations = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_FLOW_CONTROL_ERROR,
  constants.NGHTTP2_FRAME_SIZE_ERROR,
  constants.NGHTTP2_COMPRESSION_ERROR,
]);

const maxCause = 200;
const hungUp = 'the node ended the connection';
const tlsNeeded = 'it may expect TLS: then its address needs tls://';

/** Opened as `node:http2` would; a session that makes its own socket can also destroy it. */
function openSocket({ origin, ca }: { origin: string; ca?: string | undefined }): Socket {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return connectPlain({ host, port: Number(port) || 80 });
  const trust = ca !== undefined && { ca };
  const name = isIP(host) === 0 && { servername: host };
  return connectTls({ host, port: Number(port) || 443, ...trust, ...name, ALPNProtocols: ['h2'] });
}

/** The cause in one line for people, without the addresses and source files that OpenSSL puts into its errors. */
function toCause(error: Error, socket: Socket, wasOpening: boolean): Error {
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
