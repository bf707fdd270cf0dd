import { recordReplies } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startService } from './service-fixture.ts';

type Operation = { summary?: string; security?: object[]; parameters?: object[]; responses: Record<string, unknown> };

test('the document names every route of operators, how to sign in, and what they answer', async () => {
  await using service = await startService('sqlite', { OPERATOR_TOKEN: 'a'.repeat(32) });
  const replies = recordReplies(service.url);
  const document = (await (await service.get('/docs/json')).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  expect((await service.get('/docs')).headers.get('content-type')).toContain('text/html');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  );
  expect(operations.filter(({ summary }) => !summary)).toEqual([]);
  expect(operations.length).toBeGreaterThan(40);
  expect(document.paths['/metrics/log']?.get?.parameters).toMatchObject([
    { name: 'requestId', schema: { minLength: 1, maxLength: 200 } },
    { name: 'time', schema: { format: 'date-time' } },
  ]);
  const isOpen = (path: string) => !path.startsWith('/api/ussd') || path === '/api/ussd/links';
  for (const { path, method, responses } of operations.filter((operation) => !isOpen(operation.path)))
    expect([method, path, Object.keys(responses)]).toEqual([
      method,
      path,
      expect.arrayContaining(['401', '403', '429']),
    ]);

  const operator = { authorization: `Bearer ${'a'.repeat(32)}`, 'content-type': 'application/json' };
  for (const { method, path } of operations) {
    const url = `${service.url}${path.replace(/\{phoneNumber\}/, '+254700000001').replace(/\{\w+\}/g, 'x')}`;
    const body = method === 'GET' || method === 'DELETE' ? null : '{}';
    for (const headers of [operator, { 'content-type': 'text/plain' }])
      await (await fetch(url, { method, headers, body })).text();
    if (method === 'GET') await (await fetch(`${url}?format=csv&limit=0`, { headers: operator })).text();
    if (method === 'GET') await (await fetch(`${url}?format=csv`, { headers: operator })).text();
  }
  replies.compare(document);
});
