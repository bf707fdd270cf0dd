// How much a dialogue asks of the database, counted on the wire to PostgreSQL.
import { connect, createServer, type Socket } from 'node:net';
import { createTestDatabase } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { register, startService } from './service-fixture.ts';

/** Regular work, which comes at its own times: sweeps, polls, statistics, the audit log's chain, leases and probes. */
const regularWork =
  /array\(select .* limit \d+\)|^select "name", "published" from "ussd_program"|^select \* from "ussd_sms"|"ussd_(state|call)_stat"|palaver_audit_state|pg_try_advisory_xact_lock|clock_timestamp|^select 1/s;

/** A TCP proxy that reads the messages of the clients and keeps the texts of their statements. */
async function startCounter(target: URL) {
  const sockets = new Set<Socket>();
  let statements: string[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    let pending = Buffer.alloc(0);
    let started = false;
    const names = new Map<string, string>();
    let bound = '';
    let transaction: string[] | undefined;
    const note = (statement: string) => {
      if (/^(start transaction|begin)/.test(statement)) transaction = [];
      if (!transaction) statements.push(statement);
      else transaction.push(statement);
      if (!/^(commit|rollback)/.test(statement) || !transaction) return;
      if (!transaction.some((text) => regularWork.test(text))) statements.push(...transaction);
      transaction = undefined;
    };
    client.on('data', (chunk: Buffer) => {
      upstream.write(chunk);
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 5) {
        // The first message of a connection has no type.
        const head = started ? 1 : 0;
        const length = pending.readInt32BE(head) + head;
        if (pending.length < length) return;
        const type = started ? pending.toString('latin1', 0, 1) : '';
        const fields = pending.toString('utf8', head + 4, length).split('\0');
        started = true;
        pending = pending.subarray(length);
        if (type === 'Q') note(fields[0] ?? '');
        if (type === 'P') names.set(fields[0] ?? '', fields[1] ?? '');
        if (type === 'B') bound = names.get(fields[1] ?? '') ?? '';
        if (type === 'E') note(bound);
      }
    });
    upstream.pipe(client);
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: Object.assign(new URL(target), { port: String(address.port) }).href,
    /** The statements of requests since the last call. */
    take() {
      const taken = statements;
      statements = [];
      return taken.filter((text) => !regularWork.test(text));
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('PostgreSQL: a report dialogue takes at most 21 statements', async () => {
  await using database = await createTestDatabase('postgres');
  await using counter = await startCounter(new URL(database.url));
  await using service = await startService('sqlite', { DATABASE_URL: counter.url });
  await register(service, 'r');
  counter.take();
  const counts: number[] = [];
  for (const text of ['', '3', '3*1', '3*1*12', '3*1*12*4071', '3*1*12*4071**']) {
    const reply = await service.say('s', text);
    const taken = counter.take();
    counts.push(taken.length);
    expect(reply).toMatch(/^(CON|END) /);
  }
  const total = counts.reduce((sum, count) => sum + count, 0);
  process.stderr.write(`a report dialogue takes ${total} statements: ${counts.join(' + ')}\n`);
  expect(total).toBeLessThanOrEqual(21);
});
