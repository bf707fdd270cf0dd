import { parseJson } from '@palaver/contract/internal';
import { type ActionResult, computeFields, type Dialogue, holds, maxTextLength } from '@palaver/program/internal';
import { readBounded } from '@palaver/service-kit/internal';
import { isAllowedHost, openPublic } from '@palaver/ucan/open-public';
import type { Claims } from '../money/claims.ts';
import type { AgentClient } from '../outgoing/agent-client.ts';
import type { QueryClient } from '../outgoing/query-client.ts';
import type { BuiltInCall } from './action.ts';

type Call = BuiltInCall<'http'> | BuiltInCall<'protocol'>;

export interface ProgramServers {
  ask?: AskServer;
  protocol?: Pick<QueryClient, 'query'>;
  agent?: AgentClient;
  claims?: Pick<Claims, 'add' | 'countSince'>;
}

export interface ServerAccess {
  allowedHosts: readonly string[];
  /** By name, without the prefix that they have in the environment. */
  secrets: Readonly<Record<string, string>>;
  servers?: ProgramServers | undefined;
}

const tries = 2;

export async function askServer(access: ServerAccess, call: BuiltInCall<'http'>): Promise<ActionResult> {
  const { spec, menu, dialogue, context } = call;
  const { get, post, headers, body, timeout } = spec.http;
  const url = fill(get ?? post ?? '', toUrlPart(dialogue));
  if (!URL.canParse(url)) return fail(call, 'the address is not a URL');
  if (leavesItsFolder(url)) return fail(call, 'a part of the path is . or ..');
  const readSecret = (name: string) => access.secrets[name.replace(/^secrets\./, '')] ?? '';
  const endsAt = Date.now() + Number(timeout.slice(0, -1)) * 1_000;
  let answer: GuardedAnswer = { fault: 'no answer in time' };
  for (let attempt = 0; attempt < tries && Date.now() < endsAt; attempt++) {
    answer = await (access.servers?.ask ?? guardedRequest)({
      url: new URL(url),
      method: get === undefined ? 'POST' : 'GET',
      headers: {
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value, readSecret)])),
        // The same key for every retry, so that the server can recognise a request it has handled.
        'idempotency-key': context.key,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(computeFields(menu, dialogue, body)) }),
      timeoutMs: endsAt - Date.now(),
      allowedHosts: access.allowedHosts,
    });
    if ('status' in answer && answer.status < 500) break;
  }
  if ('fault' in answer) return fail(call, answer.fault);
  return settle(call, answer.status, parseJson(answer.body));
}

export async function queryProtocol(client: Pick<QueryClient, 'query'> | undefined, call: BuiltInCall<'protocol'>) {
  const { spec, dialogue } = call;
  if (!client) return fail(call, 'GATEWAY_URL is not set');
  const path = fill(spec.protocol, toUrlPart(dialogue));
  if (leavesItsFolder(path)) return fail(call, 'a part of the path is . or ..');
  const result = await client.query(path);
  if (result.ok) return settle(call, 200, result.value);
  const { kind, status, message } = result;
  if (status === undefined || kind === 'access') return fail(call, message);
  return settle(call, kind === 'missing' ? 404 : status, undefined);
}

function fill(template: string, read: (name: string) => string): string {
  return template.replace(/\{([\w.]+)\}/g, (_, name: string) => read(name));
}

/** A gateway that cuts answers may leave half of a character, which cannot be encoded. */
const toUrlPart =
  ({ values }: Dialogue) =>
  (name: string) =>
    encodeURIComponent((values[name] ?? '').toWellFormed());

/** `encodeURIComponent` leaves dots, and `/../` in a URL leads to the folder above. */
function leavesItsFolder(url: string): boolean {
  return /\/\.{1,2}(?:\/|$)/.test(url.split(/[?#]/, 1)[0] ?? '');
}

function settle(call: Call, status: number, reply: unknown): ActionResult {
  const { spec, menu, dialogue } = call;
  const values = reply === undefined ? {} : take(reply, spec.take);
  const after = { ...dialogue, values: { ...dialogue.values, ...values } };
  const named = spec.when.find(({ that }) => holds(menu, after, that, { status: BigInt(status) }));
  if (named) return { outcome: named.outcome, values };
  if (status === 404) return { outcome: 'missing' };
  if (status < 200 || status > 299) return fail(call, `status ${status}`);
  if (reply === undefined && Object.keys(spec.take).length > 0) return fail(call, 'the answer is not JSON');
  return { outcome: 'ok', values };
}

function fail({ context, menu, dialogue, spec }: Call, reason: string): ActionResult {
  const asked = 'http' in spec ? (spec.http.get ?? spec.http.post) : spec.protocol;
  const where = { program: menu.id, state: dialogue.state, asked };
  context.log.warn({ ...where, reason }, 'a server that a program asks gave no usable answer');
  return { outcome: 'failed' };
}

/** Reads `$.latest.price` and `$.prices[0]`. */
function take(reply: unknown, paths: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(paths).map(([name, path]) => {
      let value = reply;
      for (const step of path.match(/\w+/g) ?? [])
        value =
          typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? value[step as never] : undefined;
      const text = toText(value);
      return [name, text.length > maxTextLength ? '' : text];
    }),
  );
}

function toText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  try {
    return JSON.stringify(value);
  } catch {
    // The value is nested deeper than the stack allows.
    return '';
  }
}

interface GuardedRequest {
  url: URL;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  timeoutMs: number;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: readonly string[];
}

type GuardedAnswer = { status: number; body: string } | { fault: string };

export type AskServer = (request: GuardedRequest) => Promise<GuardedAnswer>;

const maxBytes = 256_000;

export async function guardedRequest(asked: GuardedRequest): Promise<GuardedAnswer> {
  const { url, timeoutMs, allowedHosts, headers, ...request } = asked;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const isAllowed = isAllowedHost(url, allowedHosts);
    const own = { accept: 'application/json', ...headers };
    const response = await openPublic(url, { ...request, headers: own, signal, isAllowed });
    return { status: response.statusCode ?? 0, body: (await readBounded(response, maxBytes)).toString() };
  } catch (error) {
    return { fault: signal.aborted ? 'no answer in time' : (error as Error).message };
  }
}
