import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { createScriptedModel, ToolError, tool } from '@palaver/agent';
import { waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { collectFrames } from '../../../agent/test/read-frames.ts';
import { startTestAgent, type TestAgent, type TestAgentOptions } from '../../../agent/test/test-agent.ts';
import { createTestPlugin } from '../../../agent/test/test-plugin.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpan = 'b7ad6b7169203331';
const traced = { traceparent: `00-${traceId}-${callerSpan}-01`, baggage: 'plan=secret' };

const exporter = new InMemorySpanExporter();
const upstream = createUpstream();

beforeAll(async () => {
  // What an operator's otel.js does, with another exporter.
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  );
  upstream.server.listen(0, '127.0.0.1');
  await once(upstream.server, 'listening');
});
beforeEach(() => {
  exporter.reset();
  upstream.calls.length = 0;
});
afterAll(() => {
  upstream.server.closeAllConnections();
  upstream.server.close();
  trace.disable();
  context.disable();
  propagation.disable();
});

interface UpstreamCall {
  path: string;
  method: string | undefined;
  traceparent: string | undefined;
  baggage: unknown;
}

/** An MCP server at /mcp, and a query gateway at all other paths. */
function createUpstream() {
  const calls: UpstreamCall[] = [];
  const server = createServer(async (request, response) => {
    const sent = await text(request);
    const body = sent === '' ? undefined : JSON.parse(sent);
    const { traceparent, baggage } = request.headers as Record<string, string>;
    calls.push({ path: request.url ?? '', method: body?.method, traceparent, baggage });
    if (request.url !== '/mcp') return void response.setHeader('content-type', 'application/json').end('{"id":"x"}');
    const mcp = new McpServer({ name: 'vault', version: '1.0.0' });
    mcp.registerTool('open', { description: 'Opens', inputSchema: {} }, async () => ({
      content: [{ type: 'text', text: 'open' }],
    }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => void mcp.close());
    await mcp.connect(transport);
    await transport.handleRequest(request, response, body);
  });
  return { server, calls };
}

function createProbe() {
  const input = z.object({ word: z.string() });
  return createTestPlugin({
    name: 'probe',
    getTools: () => ({
      echo: tool({
        description: 'Echoes.',
        inputSchema: input,
        execute: ({ word }, rt) => ({ word, headers: rt.traceHeaders() }),
      }),
      break: tool({
        description: 'Breaks.',
        inputSchema: input,
        execute() {
          throw new ToolError('TOOL_UNAVAILABLE', 'the goat of Ana is missing');
        },
      }),
      foreign: tool({
        description: 'In a span of another instrumentation.',
        inputSchema: input,
        execute: (_args, rt) =>
          context.with(trace.setSpan(context.active(), trace.getTracer('other').startSpan('other')), () =>
            rt.traceHeaders(),
          ),
      }),
      stall: tool({
        description: 'Never ends.',
        inputSchema: input,
        timeoutMs: 50,
        execute: () => new Promise(() => undefined),
      }),
    }),
  });
}

async function startAgent({ env, ...options }: TestAgentOptions = {}): Promise<TestAgent> {
  const url = `http://127.0.0.1:${(upstream.server.address() as AddressInfo).port}`;
  return await startTestAgent({
    plugins: [createProbe()],
    ...options,
    env: {
      OTEL_ENABLED: 'true',
      GATEWAY_URL: url,
      MCP_SERVERS: JSON.stringify([{ name: 'vault', url: `${url}/mcp`, approval: 'never' }]),
      ...env,
    },
  });
}

/** A whole turn, and its spans by name once the request's own has ended. */
async function traceTurn(agent: TestAgent, message: string) {
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  await waitFor('the span of the session', () => spansNamed('POST /sessions').length > 0);
  exporter.reset();
  const { body } = await user.send('POST', `/messages/${sessionId}`, { message }, traced);
  await waitFor('the span of the request', () => spansNamed('POST /messages/:sessionId').length > 0);
  return { sessionId, answer: body.message, spans: exporter.getFinishedSpans() };
}

const spansNamed = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);

function only(spans: ReadableSpan[], name: string): ReadableSpan {
  const [span, ...others] = spans.filter((each) => each.name === name);
  if (!span || others.length > 0)
    throw new Error(`expected one ${name} of ${spans.map((each) => each.name).join(', ')}`);
  return span;
}

const idOf = (span: ReadableSpan) => span.spanContext().spanId;

test('request, turn, model calls and tool call are one trace under the traceparent of the caller', async () => {
  await using agent = await startAgent();
  const { sessionId, answer, spans } = await traceTurn(agent, '/tool echo {"word": "sorghum"}');
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));

  const http = only(spans, 'POST /messages/:sessionId');
  expect(http).toMatchObject({ kind: SpanKind.SERVER, parentSpanContext: { spanId: callerSpan } });
  expect(http.attributes).toMatchObject({ 'http.route': '/messages/:sessionId', 'http.response.status_code': 200 });

  const turn = only(spans, 'invoke_agent Palaver');
  expect(turn.parentSpanContext?.spanId).toBe(idOf(http));
  expect(turn.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.id': agent.did,
    'gen_ai.conversation.id': sessionId,
  });

  const chats = spans.filter(({ name }) => name === 'chat offline');
  expect(chats.map((span) => span.attributes['gen_ai.response.finish_reasons'])).toEqual([['tool_call'], ['stop']]);
  for (const chat of chats) {
    expect(chat).toMatchObject({ kind: SpanKind.CLIENT, parentSpanContext: { spanId: idOf(turn) } });
    expect(chat.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'offline',
      'gen_ai.request.model': 'offline',
    });
  }
  for (const kind of ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens']) {
    const used = chats.map(({ attributes }) => attributes[kind] as number);
    expect(turn.attributes[kind]).toBe(used.reduce((sum, tokens) => sum + tokens));
  }

  const call = only(spans, 'execute_tool echo');
  expect(call.parentSpanContext?.spanId).toBe(idOf(turn));
  expect(call.attributes).toMatchObject({ 'gen_ai.tool.name': 'echo', 'gen_ai.tool.call.id': answer.toolCalls[0].id });
  expect(answer.toolCalls[0].output.headers).toEqual({ traceparent: `00-${traceId}-${idOf(call)}-01` });
  expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toContain('sorghum');
});

test('a body that comes later than its headers is of the same trace', async () => {
  await using agent = await startAgent();
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  const headers = { ...user.headers, ...traced, 'content-type': 'application/json' };
  const sent = request(`${agent.url}/messages/${sessionId}`, { method: 'POST', headers });
  sent.flushHeaders();
  await sleep(200);
  sent.end('{"message": "hello"}');
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  await text(response);
  expect(spansNamed('invoke_agent Palaver').map((span) => span.spanContext().traceId)).toEqual([traceId]);
});

test('the query gateway and MCP servers get the trace of the call, and no baggage', async () => {
  await using agent = await startAgent();
  for (const [name, args, isCall] of [
    ['get_entity', '{"id": "did:ixo:entity:abc123"}', ({ path }: UpstreamCall) => path.startsWith('/ixo/entity/')],
    ['vault__open', '{}', ({ method }: UpstreamCall) => method === 'tools/call'],
  ] as const) {
    const { spans } = await traceTurn(agent, `/tool ${name} ${args}`);
    const sent = upstream.calls.filter(isCall);
    const traceparent = `00-${traceId}-${idOf(only(spans, `execute_tool ${name}`))}-01`;
    expect(sent.map((call) => [call.traceparent, call.baggage])).toEqual([[traceparent, undefined]]);
  }
});

test('failures are recorded by type, without their words', async () => {
  await using agent = await startAgent();
  const broken = only((await traceTurn(agent, '/tool break {"word": "x"}')).spans, 'execute_tool break');
  expect(broken).toMatchObject({ status: { code: SpanStatusCode.ERROR }, events: [] });
  expect(broken.attributes['error.type']).toBe('TOOL_UNAVAILABLE');
  expect(JSON.stringify([broken.attributes, broken.status])).not.toContain('goat');

  // The tool itself never ends.
  const late = only((await traceTurn(agent, '/tool stall {"word": "x"}')).spans, 'execute_tool stall');
  expect(late.attributes['error.type']).toBe('TOOL_TIMEOUT');
});

test('a model that fails marks its call and the turn', async () => {
  const model = createScriptedModel([]);
  model.doStream = () => Promise.reject(new Error('the key sk-1 is wrong'));
  await using agent = await startAgent({ model });
  const { spans } = await traceTurn(agent, 'hello');
  for (const name of [`chat ${model.modelId}`, 'invoke_agent Palaver'])
    expect(only(spans, name)).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'MODEL_FAILED' },
    });
  expect(JSON.stringify(spans.map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain(
    'sk-1',
  );
});

test('a turn that its user aborts ends its spans', async () => {
  await using agent = await startAgent({ env: { OFFLINE_WORDS_PER_SECOND: '5' } });
  const user = await agent.createUser();
  const sessionId = await user.createSession();
  const response = await user.stream(sessionId, '/long 1000');
  await waitFor('the run', async () => (await user.liveRun(sessionId))?.status === 'running');
  await user.abort(sessionId);
  await collectFrames(response);
  await waitFor('the span of the turn', () => spansNamed('invoke_agent Palaver').length === 1);
  expect(spansNamed('invoke_agent Palaver')[0]?.attributes['error.type']).toBe('RunCancelled');
});

test('OTEL_CAPTURE_CONTENT puts prompts, answers, arguments and results into the spans', async () => {
  await using agent = await startAgent({ env: { OTEL_CAPTURE_CONTENT: 'true' } });
  const { spans } = await traceTurn(agent, '/tool echo {"word": "sorghum"}');
  const call = only(spans, 'execute_tool echo').attributes;
  expect(JSON.parse(String(call['gen_ai.tool.call.arguments']))).toEqual({ word: 'sorghum' });
  expect(JSON.parse(String(call['gen_ai.tool.call.result']))).toMatchObject({ word: 'sorghum' });
  const [first, second] = spans.filter(({ name }) => name === 'chat offline').map(({ attributes }) => attributes);
  expect(JSON.parse(String(first?.['gen_ai.input.messages'])).at(-1)).toEqual({
    role: 'user',
    parts: [{ type: 'text', content: '/tool echo {"word": "sorghum"}' }],
  });
  expect(JSON.parse(String(first?.['gen_ai.output.messages']))).toMatchObject([
    { role: 'assistant', parts: [{ type: 'tool_call', name: 'echo', arguments: { word: 'sorghum' } }] },
  ]);
  expect(JSON.parse(String(second?.['gen_ai.input.messages'])).at(-1)).toMatchObject({
    role: 'tool',
    parts: [{ type: 'tool_call_response' }],
  });
});

test('without OTEL_ENABLED there are no spans, and nothing is sent on', async () => {
  await using agent = await startAgent({ env: { OTEL_ENABLED: 'false' } });
  const user = await agent.createUser();
  const path = `/messages/${await user.createSession()}`;
  await user.send('POST', path, { message: '/tool get_entity {"id": "did:ixo:entity:abc123"}' }, traced);
  await user.send('POST', path, { message: '/tool vault__open {}' }, traced);
  const { body } = await user.send('POST', path, { message: '/tool foreign {"word": "x"}' }, traced);
  expect(body.message.toolCalls[0].output).toEqual({});
  expect(upstream.calls.some(({ path }) => path.startsWith('/ixo/entity/'))).toBe(true);
  expect(upstream.calls.some(({ method }) => method === 'tools/call')).toBe(true);
  expect(upstream.calls.map(({ traceparent }) => traceparent)).toEqual(upstream.calls.map(() => undefined));
  expect(exporter.getFinishedSpans()).toEqual([]);
});
