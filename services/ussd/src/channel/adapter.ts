import type { IncomingHttpHeaders } from 'node:http';

/** A request as it came over HTTP; its body is a text of its own. */
export interface RawRequest {
  headers: IncomingHttpHeaders;
  query: unknown;
  params: unknown;
}

/** What a request says, before it is validated. */
export interface AdapterRequest {
  sessionId: unknown;
  phoneNumber: unknown;
  serviceCode: unknown;
  /** The mobile network, for the log. */
  operator?: unknown;
  /** The whole input so far; or, for gateways that send only the newest, `input`. */
  text?: unknown;
  input?: NewestInput;
  /** The call is over: the caller or the network has ended it. No screen is asked for. */
  isHangUp?: boolean;
  /** What `write` repeats of the request. */
  source?: unknown;
}

export interface NewestInput {
  value: unknown;
  isFirst: boolean;
  /** A number or text that only a repeated request has in common with the one before. */
  sequence?: unknown;
  /** The same input this soon after the last is a repeat, although the reply was sent. */
  repeatWithinMs?: number | undefined;
  /** Over SMPP: session ids are given to later calls of the number again, and what is refused is delivered again. */
  isReused?: boolean;
  /** If it had to wait. */
  arrivedAt?: number;
}

export interface AdapterReply {
  contentType: string;
  headers?: Record<string, string> | undefined;
  body: string;
}

export interface SampleCall {
  sessionId: string;
  phoneNumber: string;
  serviceCode: string;
  inputs: readonly string[];
}

/** The request and reply format of one kind of telecom gateway. See docs/ussd-adapters.md for adding one. */
export interface Adapter {
  /** Small letters, digits and hyphens. */
  name: string;
  title: string;
  /** Begins with `/api/ussd`; parts such as `:session` are read from `params`. */
  path: string;
  methods: readonly ('GET' | 'POST' | 'PUT')[];
  /** Of the bodies that it reads; requests with another one are refused. */
  contentTypes: readonly string[];
  /** Who may call, instead of USSD_SHARED_SECRET and USSD_ALLOWED_IPS. */
  access?: AdapterAccess | undefined;
  /** The caller reads that the service is unavailable when an answer takes longer. */
  timeLimitMs?: number | undefined;
  /** Refusals before a body is read are HTTP errors with the shared body, which the contract asks for on its own path. */
  hasErrorBodies?: true;
  /** `undefined` when the request cannot be read at all. */
  read(request: RawRequest, body: string): AdapterRequest | undefined;
  /** The reply `CON …` or `END …` as this gateway expects it. */
  write(request: AdapterRequest | undefined, reply: string): AdapterReply;
  /** The answer to a hang-up; an empty one if absent. */
  acknowledge?(request: AdapterRequest): AdapterReply;
  /** A request that this gateway would send, for trying programs. */
  toSample?(call: SampleCall): { path: string; contentType: string; headers?: Record<string, string>; body: string };
}

export interface AdapterAccess {
  allows?(headers: IncomingHttpHeaders, address: string): boolean;
  isSigned?(headers: IncomingHttpHeaders, body: string): boolean;
  /** The headers of a signed request, for trying the adapter. */
  sign?(body: string): Record<string, string>;
}

type SampleAdapter = Adapter & Required<Pick<Adapter, 'toSample'>>;

export function toSampleAdapters(adapters: readonly Adapter[]): ReadonlyMap<string, SampleAdapter> {
  const samples = adapters.filter((adapter): adapter is SampleAdapter => adapter.toSample !== undefined);
  return new Map(samples.map((adapter) => [adapter.name, adapter]));
}

export function toSampleExchange(adapter: SampleAdapter, call: SampleCall, reply: string) {
  const { path, contentType, headers, body } = adapter.toSample(call);
  const [pathname = '', search] = path.split('?');
  const values = pathname.split('/');
  const params = Object.fromEntries(
    adapter.path.split('/').flatMap((part, i) => (part.startsWith(':') ? [[part.slice(1), values[i] ?? '']] : [])),
  );
  const query = Object.fromEntries(new URLSearchParams(search));
  const raw = { headers: { ...headers, 'content-type': contentType }, query, params };
  return { path, request: { contentType, body }, reply: adapter.write(adapter.read(raw, body), reply) };
}
