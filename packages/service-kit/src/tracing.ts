import {
  type Context,
  context,
  createContextKey,
  propagation,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { maskText } from './mask.ts';
import type { Server } from './server.ts';

const getTracer = () => trace.getTracer('palaver');

/** Marks our own spans: nothing is sent on if only the operator's instrumentation is in use. */
const ownTrace = createContextKey('palaver');

const withSpan = (parent: Context, span: Span) => trace.setSpan(parent, span).setValue(ownTrace, true);

export function addTracing(server: Server): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { method, routeOptions } = request;
    // Baggage of strangers is not passed on to other services.
    const parent = propagation.deleteBaggage(propagation.extract(context.active(), request.headers));
    const span = getTracer().startSpan(
      routeOptions.url ? `${method} ${routeOptions.url}` : method,
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': method,
          ...(routeOptions.url && { 'http.route': routeOptions.url }),
          'palaver.request.id': maskText(request.id),
        },
      },
      parent,
    );
    // Also where the client leaves in the middle of a stream.
    reply.raw.once('close', () => {
      const { statusCode } = reply.raw;
      span.setAttribute('http.response.status_code', statusCode);
      if (statusCode >= 500) markFailed(span, String(statusCode));
      span.end();
    });
    context.with(withSpan(parent, span), done);
  });
}

/** A failure is recorded by its type alone; an abort ends the span at once. */
export function inSpan<T>(
  name: string,
  { signal, ...options }: SpanOptions & { signal: AbortSignal },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = getTracer().startSpan(name, options);
  const fail = (error: unknown) => {
    if (!span.isRecording()) return;
    markFailed(span, toErrorType(error));
    span.end();
  };
  const onAbort = () => fail(signal.reason);
  signal.addEventListener('abort', onAbort);
  return context.with(withSpan(context.active(), span), async () => {
    try {
      return await work(span);
    } catch (error) {
      fail(error);
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (span.isRecording()) span.end();
    }
  });
}

/** For a route behind a wildcard, which the server does not know. */
export function setSpanRoute(method: string, route: string): void {
  if (!context.active().getValue(ownTrace)) return;
  trace.getActiveSpan()?.updateName(`${method} ${route}`).setAttribute('http.route', route);
}

/**
 * The headers that continue the current trace in another service; none where traces are off.
 *
 * @example
 * ```ts
 * import { traceHeaders } from '@palaver/service-kit';
 *
 * export const askMarket = () => fetch('https://market.example/prices', { headers: traceHeaders() });
 * ```
 */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  const active = context.active();
  if (active.getValue(ownTrace)) propagation.inject(active, headers);
  return headers;
}

function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** Says what failed without its message, which may quote personal data. */
export function toErrorType(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (typeof code === 'string') return code;
  return typeof statusCode === 'number' ? String(statusCode) : error.name;
}
