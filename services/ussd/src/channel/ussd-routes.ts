import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, ussdLimits } from '@palaver/contract';
import { parseJson, ussdReplies, visibleAsciiPattern } from '@palaver/contract/internal';
import { toShowable } from '@palaver/program/internal';
import { clientAddress, type Logger, type Server } from '@palaver/service-kit';
import { equalSecrets, findTextFault, isForwarded, isProduction, readBounded } from '@palaver/service-kit/internal';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { UssdConfig } from '../config.ts';
import type { Adapter, AdapterAccess, AdapterReply } from './adapter.ts';
import type { Texts } from './texts.ts';
import type { Answer, Channel } from './ussd-call.ts';

export interface UssdRouteParts extends Channel {
  adapters: readonly Adapter[];
  answer: Answer;
}

/** The session endpoint, once for each adapter. Whatever a telecom gateway sends, it gets a reply it can show. */
export async function addUssdRoutes(server: Server, parts: UssdRouteParts): Promise<void> {
  const { answer } = parts;
  const checkShared = createSharedCheck(parts.config);
  for (const adapter of parts.adapters)
    await server.register(async (scope) => {
      readTexts(scope, adapter.contentTypes);
      const check = adapter.access ? createAdapterCheck(adapter.access) : checkShared;
      if (check) scope.addHook('onRequest', async (request) => check(request));
      scope.route({
        method: [...adapter.methods],
        url: adapter.path,
        schema: { hide: true },
        exposeHeadRoute: false,
        ...(!adapter.hasErrorBodies && toRefusals(adapter, parts)),
        handler: async (request, reply) => {
          const body = typeof request.body === 'string' ? request.body : '';
          if (adapter.access?.isSigned?.(request.headers, body) === false)
            refuse(request, 'the signature is another one');
          const input = adapter.read(request, body);
          if (input?.isHangUp) {
            const { sessionId } = input;
            // PostgreSQL rejects some ids that no session has.
            if (typeof sessionId === 'string' && visibleAsciiPattern.test(sessionId))
              await parts.inputLog.hangUp(sessionId);
            return toBody(reply, adapter.acknowledge?.(input) ?? { contentType: 'text/plain', body: '' });
          }
          const answered = answer(input, request.log as Logger, (confirm) => reply.raw.once('finish', confirm));
          const { timeLimitMs } = adapter;
          return toBody(
            reply,
            adapter.write(input, timeLimitMs ? await within(answered, timeLimitMs) : await answered),
          );
        },
      });
    });
}

function toBody(reply: FastifyReply, { contentType, headers, body }: AdapterReply): string {
  if (headers) reply.headers(headers);
  reply.header('content-type', contentType);
  return body;
}

/** Bodies come as texts: one that cannot be read is a validation reply here, not the shared 400. */
function readTexts(scope: FastifyInstance, contentTypes: readonly string[]): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser([...contentTypes], { parseAs: 'buffer' }, ({ headers }, body, done) => {
    const fault = findTextFault(headers, body as Buffer);
    if (fault?.statusCode === 415) done(fault);
    else done(null, fault ? '' : body.toString());
  });
}

const formType = 'application/x-www-form-urlencoded';

export function addTextRoute(scope: FastifyInstance, texts: Texts, config: UssdConfig): void {
  readTexts(scope, [formType, 'application/json']);
  const check = createSharedCheck(config);
  if (check) scope.addHook('onRequest', async (request) => check(request));
  scope.post('/api/ussd/texts', { schema: { hide: true } }, async (request, reply) => {
    const fields = readFields(String(request.body), request.headers['content-type']);
    const find = (...names: string[]) => names.map((name) => toText(fields?.[name])).find(isText);
    // First as Africa's Talking and the webhook of docs/ussd-adapters.md name them, then as Twilio does.
    const [from, to = ''] = [find('from', 'From'), find('to', 'To')];
    const [text, id] = [find('text', 'Body'), find('id', 'MessageSid')];
    if (from === undefined || text === undefined)
      throw new AppError('VALIDATION_FAILED', 'A text message has the fields from, to, text and id.');
    let shown = '';
    const show = (text: string) => {
      shown = text;
    };
    const isShown = (request.query as Record<string, unknown>).reply === 'body';
    const confirm = await texts.receive({ from, to, text, id, ...(isShown && { show }) }, request.log as Logger);
    reply.raw.once('finish', confirm);
    // Unless it is asked for, the body is empty: some providers send it to the phone.
    return reply.type('text/plain').send(shown);
  });
}

const isText = (value: string | undefined) => value !== undefined;

/** PostgreSQL takes no half of a character. */
function toText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value).toWellFormed() : undefined;
}

function readFields(body: string, contentType = ''): Record<string, unknown> | undefined {
  if (contentType.startsWith(formType)) return Object.fromEntries(new URLSearchParams(body));
  const value = parseJson(body);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

/** The work is not stopped: what it has done is shown at the next dial, or to the request repeated. */
async function within(answered: Promise<string>, limitMs: number): Promise<string> {
  const stop = new AbortController();
  const late = sleep(limitMs, ussdReplies.unavailable, { signal: stop.signal }).catch(() => ussdReplies.unavailable);
  try {
    return await Promise.race([answered, late]);
  } finally {
    stop.abort();
  }
}

/** Calls that are refused before their body is read get a reply that the telecom gateway can show, so with 200. */
function toRefusals(adapter: Adapter, { config, metrics }: UssdRouteParts): RouteShorthandOptions {
  const busy = `END ${toShowable(config.USSD_BUSY_TEXT)}`;
  return {
    async errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
      const isLimited = error.statusCode === 429;
      // Strangers, whom the shared error body is for, are no telecom gateway.
      if (!isLimited && ![400, 413, 415].includes(error.statusCode ?? 500)) throw error;
      metrics.countRequest(isLimited ? 'limited' : 'invalid');
      request.log.info({ reason: error.message }, 'invalid request');
      const body = isLimited || error.statusCode === 415 ? await readUnread(request.raw) : '';
      const screen = isLimited ? busy : ussdReplies.invalidInput;
      return toBody(reply.status(200), adapter.write(adapter.read(request, body), screen));
    },
  };
}

/** For what the reply repeats of the request. Leaving the loop early must not close the connection. */
async function readUnread(request: IncomingMessage): Promise<string> {
  const chunks = request.iterator({ destroyOnReturn: false });
  return readBounded(chunks, ussdLimits.bodyBytes).then(String, () => '');
}

type Check = (request: FastifyRequest) => void;

function createAdapterCheck({ allows }: AdapterAccess): Check | undefined {
  if (!allows) return undefined;
  return (request) => {
    if (!allows(request.headers, clientAddress(request)))
      refuse(request, 'not an address or not the credentials of the adapter');
  };
}

/** Who may call the adapters that do not say it themselves. */
function createSharedCheck(config: UssdConfig): Check | undefined {
  const { USSD_SHARED_SECRET: secret, USSD_ALLOWED_IPS: allowed, USSD_ACCESS, NODE_ENV } = config;
  if (secret === undefined && allowed === undefined)
    return USSD_ACCESS === undefined && isProduction(NODE_ENV) ? createDirectCheck() : undefined;
  return (request) => {
    const given = request.headers['x-gateway-secret'];
    const isSecret = secret === undefined || equalSecrets(typeof given === 'string' ? given : undefined, secret);
    const address = clientAddress(request);
    if (!isSecret || allowed?.check(address, address.includes(':') ? 'ipv6' : 'ipv4') === false)
      refuse(request, 'not USSD_SHARED_SECRET or not one of USSD_ALLOWED_IPS');
  };
}

/** Production starts without a secret only on loopback. A proxy of this machine would let everyone in there. */
function createDirectCheck(): Check {
  let isLogged = false;
  return ({ headers, log, raw }) => {
    // nginx adds no header unless it is configured to, and speaks HTTP/1.0 to what is behind it.
    if (!isForwarded(headers) && raw.httpVersion !== '1.0') return;
    const remedy = 'Set USSD_SHARED_SECRET or USSD_ALLOWED_IPS, or USSD_ACCESS=network where the proxy restricts it.';
    if (!isLogged) log.warn(`calls that a proxy passes on are refused: anyone may have sent them. ${remedy}`);
    isLogged = true;
    throw new AppError('FORBIDDEN', `A proxy passed this call on, so anyone may have sent it. ${remedy}`);
  };
}

function refuse({ log }: FastifyRequest, reason: string): never {
  log.info({ reason }, 'a call was refused');
  throw new AppError('FORBIDDEN', 'This route is for the telecom gateway.');
}
