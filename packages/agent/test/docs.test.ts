import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/index.ts';
import { request, startTestAgent, type TestAgent } from './test-agent.ts';

const plugin = defineOraclePlugin({
  name: 'weather',
  version: '1.0.0',
  manifest: { title: 'Weather', summary: 'Weather.', whenToUse: [], visibility: 'silent', stability: 'stable' },
  getRoutes: () => (server) => {
    const querystring = z.object({ town: z.string().meta({ description: 'Where.' }) });
    server.get('/weather', { schema: { querystring, tags: ['Weather'], summary: 'The weather' } }, async () => ({}));
    server.get('/weather/open', async () => ({}));
  },
  getAuthExcludedRoutes: () => ['/weather/open'],
});

let agent: TestAgent;
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document.
let document: any;

beforeAll(async () => {
  agent = await startTestAgent({
    plugins: [plugin],
    hooks: {
      addRoutes(server) {
        server.get('/own', async () => ({}));
      },
    },
  });
  document = (await request(`${agent.url}/docs/json`)).body;
});
afterAll(() => agent[Symbol.asyncDispose]());

test('the document is valid OpenAPI 3.1', async () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
});

test('it has no route of another agent of the process', async () => {
  await using other = await startTestAgent();
  const { paths } = (await request(`${other.url}/docs/json`)).body;
  expect(Object.keys(paths)).toContain('/sessions');
  expect(Object.keys(paths)).not.toContain('/weather');
});

test('it lists every route, those of plugins and of the application included', () => {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.sort()).toEqual(
    expect.arrayContaining([
      'DELETE /delegation',
      'DELETE /sessions/{sessionId}',
      'GET /',
      'GET /.well-known/did.json',
      'GET /delegation',
      'GET /health',
      'GET /messages/{sessionId}',
      'GET /metrics',
      'GET /metrics/errors',
      'GET /metrics/log',
      'GET /models',
      'GET /own',
      'GET /runs/{runId}',
      'GET /sessions',
      'GET /sessions/{sessionId}/messages',
      'GET /sessions/{sessionId}/run',
      'GET /user-preferences',
      'GET /weather',
      'GET /weather/open',
      'PATCH /sessions/{sessionId}',
      'POST /delegation',
      'POST /messages/abort',
      'POST /messages/{sessionId}',
      'POST /sessions',
    ]),
  );
  expect(routes.some((route) => route.includes('/docs'))).toBe(false);
  expect(document.paths['/weather'].get.parameters).toMatchObject([{ name: 'town', in: 'query', required: true }]);
});

test('the UCAN headers are described, and public routes ask for none', () => {
  const schemes = document.components.securitySchemes;
  expect(schemes.invocation).toMatchObject({ type: 'http', scheme: 'bearer' });
  expect(schemes.authType).toMatchObject({ in: 'header', name: 'X-Auth-Type' });
  expect(schemes.delegation).toMatchObject({ in: 'header', name: 'x-ucan-delegation' });
  expect(document.security).toEqual([{ invocation: [], authType: [] }, { delegation: [] }]);
  for (const path of ['/', '/health', '/models', '/.well-known/did.json', '/weather/open'])
    expect([path, document.paths[path].get.security]).toEqual([path, []]);
  for (const path of ['/sessions', '/weather', '/own'])
    expect([path, document.paths[path].get.security]).toEqual([path, undefined]);
});

test('every route shows how it refuses', () => {
  for (const [path, methods] of Object.entries<Record<string, Record<string, unknown>>>(document.paths)) {
    for (const [method, { security, parameters, requestBody, responses }] of Object.entries(methods)) {
      const codes = Object.keys(responses as object);
      const isPublic = Array.isArray(security) && security.length === 0;
      const hasInput =
        requestBody !== undefined || (parameters as { in: string }[])?.some((parameter) => parameter.in === 'query');
      expect([method, path, codes.includes('401')]).toEqual([method, path, !isPublic]);
      if (hasInput) expect([method, path, codes]).toEqual([method, path, expect.arrayContaining(['400'])]);
      expect(codes.some((code) => code.startsWith('2'))).toBe(true);
    }
  }
});

test('it has the schemas that its routes use, and no others', () => {
  const { schemas } = document.components;
  const text = JSON.stringify(document);
  for (const name of Object.keys(schemas)) expect(text).toContain(`"#/components/schemas/${name}"`);
  for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) expect(schemas).toHaveProperty(name);
  expect(Object.keys(schemas).filter((name) => name.startsWith('Ussd'))).toEqual([]);
  expect(document.paths['/sessions'].post.requestBody.required).toBe(false);
  expect(document.paths['/messages/{sessionId}'].post.requestBody.required).toBe(true);
});

test('a send shows both of its replies and its request body', () => {
  const { requestBody, responses } = document.paths['/messages/{sessionId}'].post;
  expect(Object.keys(requestBody.content)).toEqual(['application/json']);
  expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '400', '402', '404', '409', '422', '429']));
  expect(Object.keys(responses[200].content).sort()).toEqual(['application/json', 'text/event-stream']);
  expect(Object.keys(document.paths['/runs/{runId}'].get.responses[200].content)).toEqual(['text/event-stream']);
});

test('the page and all it needs come from this server', async () => {
  const page = await request(`${agent.url}/docs`);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toContain('text/html');
  const links = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link as string);
  expect(links.length).toBeGreaterThan(2);
  for (const link of links) {
    const target = new URL(link, `${agent.url}/docs`);
    expect(target.origin).toBe(agent.url);
    expect((await request(target.href)).status).toBe(200);
  }
});
