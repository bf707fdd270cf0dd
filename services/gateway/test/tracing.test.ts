// Requests as spans, with an exporter in memory in place of an operator's.
import { readFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { context, propagation, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FixtureNode, startFixtureNode } from './fixture-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

const exporter = new InMemorySpanExporter();
let node: FixtureNode;
beforeAll(async () => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const cosmos = fromBinary(FileDescriptorSetSchema, readFileSync(new URL('cosmos.binpb', import.meta.url))).file;
  node = await startFixtureNode({
    files: (own) => [...own, ...cosmos.filter(({ name }) => own.every((file) => file.name !== name))],
    reply: ({ method, request }) => ({ message: method === 'BroadcastTx' ? new Uint8Array() : request }),
  });
});
afterAll(() => {
  node.close();
  trace.disable();
  context.disable();
  propagation.disable();
});

test('a query or a transaction is a span under its caller, named by its route and without what was asked; nothing where it is off', async () => {
  const [traceId, caller] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const ask = async (enabled: string) => {
    await using gateway = await startTestGateway({
      GATEWAY_UPSTREAMS: node.address,
      GATEWAY_TX: 'true',
      OTEL_ENABLED: enabled,
    });
    exporter.reset();
    const headers = { traceparent: `00-${traceId}-${caller}-01` };
    const json = { ...headers, 'content-type': 'application/json' };
    const body = JSON.stringify({ tx_bytes: Buffer.from('secret').toString('base64'), mode: 'BROADCAST_MODE_SYNC' });
    const replies = [
      await gateway.get('/fixture/item/1?note=secret-note', headers),
      await gateway.get('/nowhere/secret-path', headers),
      await fetch(`${gateway.url}/cosmos/tx/v1beta1/txs?secret`, { method: 'POST', headers: json, body }),
    ];
    await Promise.all(replies.map((reply) => reply.text()));
    return replies.map(({ status }) => status);
  };
  expect(await ask('false')).toEqual([200, 404, 200]);
  expect(exporter.getFinishedSpans()).toEqual([]);
  expect(await ask('true')).toEqual([200, 404, 200]);
  await waitFor('all spans', () => exporter.getFinishedSpans().length === 3);
  const spans = exporter.getFinishedSpans();
  for (const span of spans) {
    expect(span).toMatchObject({ kind: SpanKind.SERVER, parentSpanContext: { traceId, spanId: caller } });
    expect(span.spanContext().traceId).toBe(traceId);
    expect(JSON.stringify([span.name, span.attributes])).not.toContain('secret');
  }
  expect(spans.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
    ['GET /fixture/item/{id}', 200],
    ['GET /*', 404],
    ['POST /cosmos/tx/v1beta1/txs', 200],
  ]);
});
