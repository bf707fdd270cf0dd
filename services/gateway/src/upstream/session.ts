// A connection to a node: `node:http2` with a limit on every wait and one callback for each call.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';

export interface SessionOptions {
  /** `http://host:port` or `https://host:port`. */
  origin: string;
  /** Certificates to trust instead of the system's. */
  ca?: string | undefined;
  /** The node has sent its settings: it speaks HTTP/2. */
  onReady(): void;
  /** The node takes no new calls; running ones may still end. `isOrderly` if it found no fault. */
  onGoaway(cause: Error, isOrderly: boolean): void;
  /** `cause` says why it ended. */
  onClose(cause: Error): void;
}

/** Names and values alternating. */
export type Fields = string[];

/** What came back for a call beside its body. */
export interface Received {
  /** Undefined when the node sent none. */
  headers: Fields | undefined;
  trailers: Fields | undefined;
  /** How the stream ended early: the code of its reset, with its connection, or because one side broke the protocol. */
  lost: number | 'connection' | 'breach' | undefined;
}

export interface CallHandlers {
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
const maxReason = 200;
const lifeCheckMs = 1_000;
/** How long a node may be silent while calls wait for it, and then how long to a ping. */
const maxSilenceMs = 3_000;
/** grpc-go takes this many pings from a client that it sends nothing else, then one every five minutes. */
const freePings = 3;
const pingEveryMs = 5 * 60_000;

export class Session {
  private readonly session: ClientHttp2Session;
  private isReady = false;
  private isAccused = false;
  private inFlight = 0;
  private cause: Error | undefined;
  private bytesRead = 0;
  /** Since when a call has been sent and nothing has come, not even for a call that was given up. */
  private quietSince: number | undefined;
  /** Pings since the node last answered a call. */
  private pings = 0;
  private pingedAt = 0;
  private isPinged = false;

  constructor(options: SessionOptions) {
    const { origin, ca } = options;
    this.session = connect(origin, {
      ...(ca !== undefined && { ca }),
      settings: { enablePush: false, initialWindowSize: streamWindow, maxHeaderListSize },
      maxSessionMemory,
      // Error texts of nodes begin and end with spaces.
      strictFieldWhitespaceValidation: false,
    });
    const seconds = connectTimeoutMs / 1000;
    const timer = setTimeout(() => this.destroy(new Error(`no HTTP/2 within ${seconds} s`)), connectTimeoutMs);
    const life = setInterval(() => this.checkLife(), lifeCheckMs).unref();
    this.session.once('remoteSettings', () => {
      clearTimeout(timer);
      this.session.setLocalWindowSize(sessionWindow);
      this.isReady = true;
      options.onReady();
    });
    this.session.on('goaway', (code, _lastStream, data) => {
      this.isAccused = accusations.has(code);
      const reason = data ? ` ${JSON.stringify(Buffer.from(data).toString('latin1', 0, maxReason))}` : '';
      options.onGoaway(new Error(`the node ended the session (HTTP/2 code ${code}${reason})`), code === 0);
    });
    this.session.on('error', (error) => (this.cause ??= error));
    this.session.on('close', () => {
      clearTimeout(timer);
      clearInterval(life);
      options.onClose(this.cause ?? new Error('the node ended the connection'));
    });
    this.session.unref();
  }

  /** Whether calls can be begun. */
  isOpen(): boolean {
    return this.isReady && !this.session.closed && !this.session.destroyed;
  }

  /** Sends one message as a call and returns a function that cancels it. Throws for fields that no request can have. */
  request(fields: Fields, body: Buffer, { take, onEnd }: CallHandlers): () => void {
    const stream = this.session.request(fields, requestOptions);
    const received: Received = { headers: undefined, trailers: undefined, lost: undefined };
    let isOver = false;
    let error: Error | undefined;
    this.inFlight += 1;
    this.quietSince ??= performance.now();
    const end = (lost: Received['lost']) => {
      if (isOver) return;
      isOver = true;
      this.inFlight -= 1;
      received.lost = lost;
      onEnd(received);
    };
    const giveUp = () => {
      if (isOver) return;
      stream.close(constants.NGHTTP2_CANCEL);
      end(constants.NGHTTP2_CANCEL);
    };
    stream.on('response', (_headers, flags, fieldsOfAnswer: Fields) => {
      this.pings = 0;
      received.headers = fieldsOfAnswer;
      // A failure may come as one block of headers ("trailers only").
      if (flags & constants.NGHTTP2_FLAG_END_STREAM) end(undefined);
    });
    stream.on('data', (chunk: Buffer) => {
      this.pings = 0;
      if (!isOver && !take(chunk)) giveUp();
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

  destroy(cause?: Error): void {
    this.cause ??= cause;
    this.session.destroy(cause);
  }

  private whyLost({ rstCode }: ClientHttp2Stream, error: Error | undefined): Received['lost'] {
    if (!this.session.destroyed) return rstCode === constants.NGHTTP2_NO_ERROR ? undefined : rstCode;
    const isBreach = error && 'code' in error && error.code === 'ERR_HTTP2_ERROR';
    return isBreach || this.isAccused ? 'breach' : 'connection';
  }

  /** Finds a dead connection by a ping that is not answered. Idle nodes are left alone: they count pings. */
  private checkLife(): void {
    if (this.session.destroyed || !this.isReady) return;
    const now = performance.now();
    const { bytesRead } = this.session.socket;
    // Whatever comes is a sign of life, also the answer to a ping.
    if (bytesRead !== this.bytesRead) {
      this.bytesRead = bytesRead;
      this.quietSince = this.inFlight > 0 ? now : undefined;
      this.isPinged = false;
      return;
    }
    if (this.isPinged) {
      if (now - this.pingedAt >= maxSilenceMs) this.destroy(new Error('the node does not answer pings'));
      return;
    }
    const mayPing = this.pings < freePings || now - this.pingedAt >= pingEveryMs;
    if (!mayPing || this.quietSince === undefined || now - this.quietSince < maxSilenceMs) return;
    this.session.ping(() => undefined);
    this.pingedAt = now;
    this.isPinged = true;
    this.pings += 1;
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
