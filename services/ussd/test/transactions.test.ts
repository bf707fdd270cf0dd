// Payments whose outcome no node knows: operators list them, search for them, and decide.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { post } from '../src/money/books.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { readBooks } from './read-books.ts';
import { startService } from './service-fixture.ts';

/** A node that has used up sequence 7 of every account and has no transaction. */
async function startNode() {
  const server = createServer(({ url = '' }, response) => {
    const answer = [
      ['/blocks/latest', { block: { header: { chain_id: 'c', height: '500' } } }],
      ['/account_info/', { info: { account_number: '1', sequence: '8' } }],
      ['/txs?', { txs: [], tx_responses: [], total: '0' }],
    ].find(([part]) => url.includes(String(part)))?.[1];
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { code: 5, message: 'tx not found' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
}

test.each(engines)('on %s viewers list unclear payments, admins decide, and the books follow', async (engine) => {
  await using node = await startNode();
  await using dir = await createTempDir();
  const file = join(dir.path, 'operators.json');
  const [viewer, operator, admin] = (['viewer', 'operator', 'admin'] as const).map((role) => ({
    authorization: `Bearer ${addOperator(file, { name: role, role })}`,
  }));
  await using service = await startService(engine, {
    OPERATORS_FILE: file,
    GATEWAY_URL: node.url,
    CLAIMS_COLLECTION: '1',
    CLAIMS_INTERVAL_SECONDS: '0',
    PAYOUT_DAILY_LIMIT: '1000uixo',
  });
  const store = await openStore<UssdTables>(service.databaseUrl);
  const [paid, repeated] = ['A'.repeat(64), 'B'.repeat(64)];
  for (const [id, hash] of [
    ['1', paid],
    ['2', repeated],
  ]) {
    await store.transaction(async (trx) => {
      await post(trx, { id: `reward:${id}`, entries: { 'system:rewards:uixo': -70n, 'holder:a:uixo': 70n }, now: 1 });
      await post(trx, { id: `payout:${id}`, entries: { 'holder:a:uixo': -70n, 'system:transit:uixo': 70n }, now: 1 });
      await sql`insert into ussd_payout (id, account_id, address, denom, amount, status, created_at)
        values (${id}, 'a', 'ixo1', 'uixo', 70, 'sending', 1)`.execute(trx);
      await sql`insert into ussd_tx (id, message, memo, status, alone, attempts, next_at, bytes, hash, sequence, timeout_height, created_at)
        values (${`payout:${id}`}, '{}', '', 'unclear', 1, 0, 0, '', ${hash}, 7, 100, 1)`.execute(trx);
    });
  }
  const send = async (path: string, headers: Record<string, string> | undefined) => {
    const reply = await fetch(`${service.url}/api/ussd/transactions/${path}`, {
      method: 'POST',
      headers: headers ?? {},
    });
    return { status: reply.status, body: (await reply.json()) as { transactions: { id: string; status: string }[] } };
  };

  const list = await (await service.get('/api/ussd/transactions', viewer)).json();
  expect(list).toMatchObject({ transactions: [{ id: 'payout:1', hash: paid, sequence: 7 }, { id: 'payout:2' }] });
  expect(JSON.stringify(list)).not.toContain('message');
  expect((await service.get('/api/ussd/transactions')).status).toBe(401);
  expect((await send(`${paid}/look-up`, viewer)).status).toBe(403);
  expect((await send(`${paid}/mark-included`, operator)).status).toBe(403);
  expect(await send(`${paid}/look-up`, operator)).toMatchObject({
    status: 200,
    body: { transactions: [{ status: 'unclear' }] },
  });
  expect((await send('nonsense/look-up', admin)).status).toBe(400);
  expect(await send(`${paid}/mark-included`, admin)).toMatchObject({
    body: { transactions: [{ status: 'included' }] },
  });
  expect((await send(`${paid}/mark-included`, admin)).status).toBe(404);
  expect(await send(`${repeated}/send-again`, admin)).toMatchObject({
    body: { transactions: [{ status: 'waiting' }] },
  });

  const payouts = await store.db.selectFrom('ussd_payout').select(['id', 'status']).orderBy('id').execute();
  expect(payouts).toEqual([
    { id: '1', status: 'sent' },
    { id: '2', status: 'sending' },
  ]);
  expect(await readBooks(store.db)).toEqual({
    'holder:a:uixo': '0',
    'system:paid:uixo': '70',
    'system:rewards:uixo': '-140',
    'system:transit:uixo': '70',
  });
  const audit = await (await service.get('/api/ussd/audit?action=operator.write', admin)).json();
  expect((audit as { lines: { actor: string; subject: string; details: object }[] }).lines).toMatchObject([
    { actor: 'operator:admin', subject: repeated, details: { route: '/api/ussd/transactions/:hash/send-again' } },
    { actor: 'operator:admin', subject: paid },
    { actor: 'operator:admin', subject: paid, details: { route: '/api/ussd/transactions/:hash/mark-included' } },
    { actor: 'operator:operator', subject: paid, details: { route: '/api/ussd/transactions/:hash/look-up' } },
  ]);
  await store.close();
});
