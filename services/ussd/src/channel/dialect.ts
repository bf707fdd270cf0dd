/** What a telecom gateway's request says, before it is validated. */
export interface DialectRequest {
  sessionId: unknown;
  phoneNumber: unknown;
  serviceCode: unknown;
  /** The whole input so far; or, for gateways that send only the newest, `input`. */
  text?: unknown;
  input?: { value: unknown; isFirst: boolean };
  /** Fields the reply must carry again. */
  echo?: Record<string, unknown>;
}

/** The request and reply format of one kind of telecom gateway. See docs/ussd-adapters.md for adding one. */
export interface Dialect {
  path: string;
  /** Refusals before a body is read are HTTP errors with the shared body, which the contract asks for on its own path. */
  hasErrorBodies?: true;
  /** `undefined` when the body cannot be read at all. */
  read(contentType: string, body: string): DialectRequest | undefined;
  /** The reply `CON …` or `END …` as this gateway expects it. */
  write(request: DialectRequest | undefined, reply: string): { contentType: string; body: string };
}
