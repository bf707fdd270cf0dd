import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { createTempDir } from './temp-dir.ts';
import './provided-context.ts';

export const engines = ['sqlite', 'postgres'] as const;
export type Engine = (typeof engines)[number];

/** An empty database of its own on the given engine, gone when disposed. Close every connection first. */
export async function createTestDatabase(
  engine: Engine,
): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  if (engine === 'sqlite') {
    const dir = await createTempDir();
    return { url: `file:${join(dir.path, 'test.sqlite')}`, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
  }
  const server = inject('postgresUrl');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await runOnServer(server, `create database ${name}`);
  return {
    url: Object.assign(new URL(server), { pathname: `/${name}` }).href,
    [Symbol.asyncDispose]: () => runOnServer(server, `drop database if exists ${name} with (force)`),
  };
}

async function runOnServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
