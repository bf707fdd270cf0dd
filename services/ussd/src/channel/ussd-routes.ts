import type { IncomingMessage } from 'node:http';
import { AppError, ussdLimits } from '@palaver/contract';
import { ussdReplies, ussdRequestSchema } from '@palaver/contract/internal';
import { toShowable } from '@palaver/program/internal';
import { clientAddress, type Logger, type Server } from '@palaver/service-kit';
import { equalSecrets, isForwarded, isProduction, readBounded } from '@palaver/service-kit/internal';
import type { FastifyError, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { HandleRequest } from '../calls/handle-request.ts';
import type { UssdConfig } from '../config.ts';
import type { UssdMetrics } from '../metrics.ts';
import type { TextHash } from '../store/text-hash.ts';
import { africasTalking } from './africas-talking.ts';
import { arkesel } from './arkesel.ts';
import type { Dialect, DialectRequest } from './dialect.ts';
import type { InputLog } from './input-log.ts';
import { UssdCall, type UssdRequest } from './ussd-call.ts';

export interface UssdRouteParts {
  config: UssdConfig;
  handleRequest: HandleRequest;
  inputLog: InputLog;
  textHash: TextHash;
  metrics: UssdMetrics;
}

const dialects: Dialect[] = [africasTalking, arkesel];

/** The session endpoint, once for each dialect. Whatever a telecom gateway sends, it gets a reply it can show. */
export async function addUssdRoutes(server: Server, parts: UssdRouteParts): Promise<void> {
  const answer = createAnswer(parts);
  await server.register(async (scope) => {
    // Bodies come as texts: one that cannot be read is a validation reply here, not the shared 400.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      ['application/json', 'application/x-www-form-urlencoded'],
      { parseAs: 'string' },
      (_request, body, done) => done(null, body),
    );
    const { USSD_SHARED_SECRET, USSD_ALLOWED_IPS, USSD_ACCESS, NODE_ENV } = parts.config;
    if (USSD_SHARED_SECRET !== undefined || USSD_ALLOWED_IPS !== undefined) {
      scope.addHook('onRequest', async (request) => checkCaller(request, parts.config));
    } else if (USSD_ACCESS === undefined && isProduction(NODE_ENV)) {
      scope.addHook('onRequest', createDirectCheck());
    }
    for (const dialect of dialects) {
      const refusals = dialect.hasErrorBodies ? {} : toRefusals(dialect, parts);
      scope.post(dialect.path, { schema: { hide: true }, ...refusals }, async (request, reply) => {
        const contentType = request.headers['content-type'] ?? '';
        const input = dialect.read(contentType, typeof request.body === 'string' ? request.body : '');
        const text = await answer(input, request.log as Logger);
        const written = dialect.write(input, text);
        reply.header('content-type', written.contentType);
        return written.body;
      });
    }
  });
}

/** Calls that are refused before their body is read get a reply that the telecom gateway can show, so with 200. */
function toRefusals(dialect: Dialect, { config, metrics }: UssdRouteParts): RouteShorthandOptions {
  const busy = `END ${toShowable(config.USSD_BUSY_TEXT)}`;
  return {
    async errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
      const isLimited = error.statusCode === 429;
      // Strangers, whom the shared error body is for, are no telecom gateway.
      if (!isLimited && ![400, 413, 415].includes(error.statusCode ?? 500)) throw error;
      metrics.countRequest(isLimited ? 'limited' : 'invalid');
      request.log.info({ reason: error.message }, 'invalid request');
      const body = isLimited || error.statusCode === 415 ? await readUnread(request.raw) : '';
      const { contentType, body: text } = dialect.write(
        dialect.read(request.headers['content-type'] ?? '', body),
        isLimited ? busy : ussdReplies.invalidInput,
      );
      return reply.status(200).header('content-type', contentType).send(text);
    },
  };
}

/** For what the reply repeats of the request. Leaving the loop early must not close the connection. */
async function readUnread(request: IncomingMessage): Promise<string> {
  const chunks = request.iterator({ destroyOnReturn: false });
  return readBounded(chunks, ussdLimits.bodyBytes).then(String, () => '');
}

/** Only the telecom gateway may call, where that is set up. */
function checkCaller(
  request: FastifyRequest,
  { USSD_SHARED_SECRET: secret, USSD_ALLOWED_IPS: allowed }: UssdConfig,
): void {
  if (secret !== undefined) {
    const given = request.headers['x-gateway-secret'];
    if (!equalSecrets(typeof given === 'string' ? given : undefined, secret)) throw forbidden();
  }
  if (allowed !== undefined) {
    const address = clientAddress(request);
    if (!allowed.check(address, address.includes(':') ? 'ipv6' : 'ipv4')) throw forbidden();
  }
}

/** Production starts without a secret only on loopback. A proxy of this machine would let everyone in there. */
function createDirectCheck(): (request: FastifyRequest) => Promise<void> {
  let isLogged = false;
  return async ({ headers, log, raw }) => {
    // nginx adds no header unless it is configured to, and speaks HTTP/1.0 to what is behind it.
    if (!isForwarded(headers) && raw.httpVersion !== '1.0') return;
    const remedy = 'Set USSD_SHARED_SECRET or USSD_ALLOWED_IPS, or USSD_ACCESS=network where the proxy restricts it.';
    if (!isLogged) log.warn(`calls that a proxy passes on are refused: anyone may have sent them. ${remedy}`);
    isLogged = true;
    throw new AppError('FORBIDDEN', `A proxy passed this call on, so anyone may have sent it. ${remedy}`);
  };
}

function forbidden(): AppError {
  return new AppError('FORBIDDEN', 'This route is for the telecom gateway.');
}

type Answer = (input: DialectRequest | undefined, log: Logger) => Promise<string>;

function createAnswer(parts: UssdRouteParts): Answer {
  const { config, metrics, handleRequest, inputLog, textHash } = parts;
  let inFlight = 0;
  // One function, not one around the other: every key press would pay for one more promise.
  return async (input, log) => {
    // Beyond the bound a reply at once: later it would come after the telecom gateway has given up, and cost the others time.
    if (inFlight >= config.USSD_MAX_IN_FLIGHT) {
      metrics.countRequest('shed');
      return `END ${toShowable(config.USSD_BUSY_TEXT)}`;
    }
    inFlight += 1;
    const started = performance.now();
    try {
      const valid = toUssdRequest(config, input);
      // Only where there is something to wait for, for the same reason.
      const request = input?.input?.isFirst === false && !('invalid' in valid) ? await addInputs(parts, valid) : valid;
      const result = 'invalid' in request ? request : await handleRequest(new UssdCall(request, textHash), log);
      if ('invalid' in result) {
        metrics.countRequest('invalid');
        log.info({ reason: result.invalid }, 'invalid request');
        return ussdReplies.invalidInput;
      }
      metrics.countRequest(result.kind);
      metrics.observeRequest((performance.now() - started) / 1000);
      if (input?.input && 'sessionId' in request) {
        if (result.reply.startsWith('END ')) await inputLog.remove(request.sessionId);
        // Only now is it known that the session is this number's.
        else if (input.input.isFirst) await inputLog.open(request.sessionId, request);
      }
      return result.reply;
    } catch (error) {
      metrics.countRequest('failed');
      log.error({ err: error }, 'a request failed');
      return ussdReplies.unavailable;
    } finally {
      inFlight -= 1;
    }
  };
}

function toUssdRequest(config: UssdConfig, input: DialectRequest | undefined): UssdRequest | { invalid: string } {
  if (!input) return { invalid: 'the body cannot be read' };
  const { sessionId, serviceCode, input: newest } = input;
  const phoneNumber =
    config.PHONE_PLUS_OPTIONAL && typeof input.phoneNumber === 'string' && /^\d/.test(input.phoneNumber)
      ? `+${input.phoneNumber}`
      : input.phoneNumber;
  const isLater = newest !== undefined && !newest.isFirst;
  const parsed = ussdRequestSchema.safeParse({
    sessionId,
    phoneNumber,
    // Later requests of such a dialect do not repeat the code; the one of the first is kept.
    serviceCode: isLater ? '*0#' : serviceCode,
    text: newest ? newest.value : input.text,
  });
  if (!parsed.success)
    return { invalid: parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ') };
  const request = parsed.data;
  if (!isLater && config.SERVICE_CODES.length > 0 && !config.SERVICE_CODES.includes(request.serviceCode)) {
    return { invalid: 'serviceCode: is not one of SERVICE_CODES' };
  }
  return request;
}

/** Completes the text for dialects that send only the newest input. */
async function addInputs(
  { inputLog }: UssdRouteParts,
  request: UssdRequest,
): Promise<UssdRequest | { invalid: string }> {
  const kept = await inputLog.append(request.sessionId, request.phoneNumber, request.text);
  return kept ? { ...request, ...kept } : { invalid: 'the session is not known' };
}
