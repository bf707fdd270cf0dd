import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createTempDir } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { expect, it, onTestFinished, vi } from 'vitest';

const user = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK';

async function setUp(env: Record<string, string> = {}) {
  const dir = await createTempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  for (const [name, value] of Object.entries({ PORT: '0', DATA_DIR: dir.path, LOG_LEVEL: 'error', ...env }))
    vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

async function startShop() {
  const orders: unknown[] = [];
  const shop = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    if (request.method === 'POST') orders.push(JSON.parse(Buffer.concat(parts).toString()));
    const stock = { '/stock/kisumu': 300, '/stock/homa-bay': 120, '/stock/siaya': 80 }[request.url ?? ''];
    const replies = { '/prices/maize': { price: 52 }, '/orders': { order: orders.length } }[request.url ?? ''];
    const reply = stock === undefined ? replies : { kilograms: stock };
    response.writeHead(reply ? 200 : 404).end(JSON.stringify(reply ?? {}));
  });
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void shop.close());
  return { orders, SHOP_URL: `http://127.0.0.1:${(shop.address() as { port: number }).port}` };
}

it('the co-operative fits on a page: it asks first, shows how far it is, keeps a schedule and asks a shop', async () => {
  const source = await readFile(new URL('co-operative.ts', import.meta.url), 'utf8');
  expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(45);
  const { orders, SHOP_URL } = await startShop();
  await setUp({ SHOP_URL });
  const { app } = await import('./co-operative.ts');
  onTestFinished(() => app.close());
  const session = app.session('seed', { user });
  const outputOf = async (text: string, approved = true) => {
    const { message } = await session.generate(text, { approve: () => approved });
    return message.toolCalls?.[0]?.output ?? message.toolCalls?.[0]?.error;
  };
  expect(await outputOf('/tool price_of {"crop": "maize"}')).toEqual({ price: 52 });
  expect(await outputOf('/tool price_of {"crop": "beans"}')).toContain('the shop answers 404');
  expect(await outputOf('/tool order_seed {"crop": "maize", "kilograms": 60}', false)).toContain('APPROVAL_REFUSED');
  expect(orders).toEqual([]);
  expect(await outputOf('/tool order_seed {"crop": "maize", "kilograms": 60}')).toEqual({ order: 1 });
  expect(orders).toEqual([{ crop: 'maize', kilograms: 60, by: user }]);
  const { events } = await session.stream('/tool count_stock');
  const counted: unknown[] = [];
  for await (const { name, data } of events) if (name === 'tool_call' && data.output) counted.push(data.output);
  expect(counted[0]).toEqual({ kilograms: 300, counted: 'kisumu' });
  expect(counted.at(-1)).toEqual({ kilograms: 500, counted: 'siaya' });
  expect(await outputOf('/tool remind_me {"what": "weed", "when": "2 hours"}')).toMatchObject({
    prompt: 'Remind me: weed',
  });
});

it('the harvest diary keeps what each user has harvested, and shows it on a route', async () => {
  await setUp();
  const { app } = await import('./harvest-diary/agent.ts');
  onTestFinished(() => app.close());
  const issuer = await createSigner();
  const session = app.session('diary', { user: issuer.did() });
  const say = async (text: string) => (await session.generate(text)).text;
  await say('call me Ana');
  expect(await say('/tool record_harvest {"crop": "maize", "kilograms": 120}')).toContain('120 kg of maize');
  expect(await say('/tool record_harvest {"crop": "maize", "kilograms": 99999}')).toContain('ten tonnes');
  expect(await say('/tool list_harvests')).toContain('"kilograms":120');
  expect(await say('and now?')).toMatch(/^Ana, /);
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' };
  const { serialized } = await createInvocation({ issuer, audience: app.did, capability });
  const headers = { authorization: `Bearer ${serialized}`, 'x-auth-type': 'ucan' };
  const { body } = await app.inject({ url: '/harvests', headers });
  expect(JSON.parse(body)).toEqual({ harvests: [{ crop: 'maize', kilograms: 120 }] });
});
