import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { phoneNumber, register, serviceCode, startService } from './service-fixture.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpan = 'b7ad6b7169203331';
const exporter = new InMemorySpanExporter();
const asked: (string | string[] | undefined)[][] = [];
const gateway = createServer(({ headers }, response) => {
  asked.push([headers.traceparent, headers.baggage]);
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}');
});

beforeAll(async () => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  );
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  gateway.close();
  trace.disable();
  context.disable();
  propagation.disable();
});

test('a request has a span under the traceparent of its caller, and the query gateway is asked under that span', async () => {
  const GATEWAY_URL = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  await using service = await startService('sqlite', { GATEWAY_URL, OTEL_ENABLED: 'true' });
  await register(service, 'r');
  const account = `${service.url}/api/ussd/accounts/${encodeURIComponent(phoneNumber)}/address`;
  const json = { 'content-type': 'application/json' };
  const body = JSON.stringify({ address: 'ixo1rvqvzf99azcyjtsawm3m6cqhqwl0gjml2tr2lf' });
  expect((await fetch(account, { method: 'PUT', headers: json, body })).status).toBe(200);
  exporter.reset();
  asked.length = 0;
  const headers = { ...json, traceparent: `00-${traceId}-${callerSpan}-01`, baggage: 'plan=secret' };
  const fields = { sessionId: 's', serviceCode, phoneNumber, text: '2*2*4071*1' };
  expect(await (await service.post(fields, { headers })).text()).toMatch(/^CON /);
  const span = await waitFor('the span of the request', () =>
    exporter.getFinishedSpans().find(({ name }) => name === 'POST /api/ussd'),
  );
  expect([span.spanContext().traceId, span.parentSpanContext?.spanId]).toEqual([traceId, callerSpan]);
  const onward = [`00-${traceId}-${span.spanContext().spanId}-01`, undefined];
  expect(asked.length).toBeGreaterThan(0);
  expect(asked).toEqual(asked.map(() => onward));
});
