import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { createTempDir } from './temp-dir.ts';
import './provided-context.ts';

export const engines = ['sqlite', 'postgres'] as const;
export type Engine = (typeof engines)[number];

/** Tables that are created once per run on PostgreSQL and then copied, which takes a tenth of the time. */
export interface Template {
  name: string;
  migrate(url: string): Promise<void>;
}

/**
 * A database of its own on the given engine, gone when disposed. Close every connection first.
 * On PostgreSQL it has the tables of the template, if one is given; otherwise it is empty.
 */
export async function createTestDatabase(
  engine: Engine,
  template?: Template,
): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  if (engine === 'sqlite') {
    const dir = await createTempDir();
    return { url: `file:${join(dir.path, 'test.sqlite')}`, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
  }
  const server = inject('postgresUrl');
  const name = `test_${randomBytes(8).toString('hex')}`;
  const source = template && (await prepareTemplate(server, template));
  await runOnServer(server, `create database ${name}${source ? ` template ${source}` : ''}`);
  return {
    url: toUrl(server, name),
    [Symbol.asyncDispose]: () => runOnServer(server, `drop database if exists ${name} with (force)`),
  };
}

/** Creates the template unless another worker has. It is renamed at the end, so one that has its name is complete. */
async function prepareTemplate(server: string, { name, migrate }: Template): Promise<string> {
  const complete = `template_${name}`;
  await using client = await connect(server);
  await client.query('select pg_advisory_lock(1)');
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [complete]);
  if (!rowCount) {
    await client.query(`create database unfinished_${name}`);
    await migrate(toUrl(server, `unfinished_${name}`));
    await client.query(`alter database unfinished_${name} rename to ${complete}`);
  }
  return complete;
}

function toUrl(server: string, name: string): string {
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}

async function runOnServer(url: string, sql: string): Promise<void> {
  await using client = await connect(url);
  await client.query(sql);
}

async function connect(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
