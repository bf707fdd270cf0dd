/** Why a connection is over. */
export type LinkEnd =
  /** The service refused it, with this as the reason. */
  | { reason: 'refused'; data: unknown }
  /** The service ended it. */
  | { reason: 'ended' }
  /** The wallet declined to sign. */
  | { reason: 'declined' }
  /** No connection, or one that broke. */
  | { reason: 'broken' };

export interface LinkOptions {
  /** `http:` or `https:`. */
  origin: string;
  /** Where Socket.IO is. */
  path: string;
  query: Record<string, string>;
  /** Asked once the service has answered. */
  auth(): Promise<Record<string, unknown>>;
  onConnected(): void;
  onEvent(name: string, body: unknown): void;
  /** Called once, unless `close` is called before. */
  onEnd(end: LinkEnd): void;
}

/** One connection to a Socket.IO service. */
export interface Link {
  emit(name: string, payload: unknown): void;
  close(): void;
}

export type OpenLink = (options: LinkOptions) => Link;

/** For a connection to be accepted. */
export const handshakeMs = 20_000;
