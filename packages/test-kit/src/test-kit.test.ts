import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { createTestDatabase, freePort, launchBrowser, startProcess, testWithRedis } from './index.ts';

test('each test database is empty and its own', async () => {
  await using one = await createTestDatabase('postgres');
  await using two = await createTestDatabase('postgres');
  expect(one.url).not.toBe(two.url);
  const client = new pg.Client({ connectionString: one.url });
  await client.connect();
  await client.query('create table t (id int)');
  await client.end();
  const other = new pg.Client({ connectionString: two.url });
  await other.connect();
  await expect(other.query('select * from t')).rejects.toThrow('does not exist');
  await other.end();
  expect(inject('postgresUrl')).toContain('127.0.0.1');
});

testWithRedis('a Redis answers', async ({ redisUrl }) => {
  expect(redisUrl).toMatch(/^redis:\/\/127\.0\.0\.1:\d+$/);
});

test('a real browser renders a page', async () => {
  const browser = await launchBrowser();
  const page = await browser.newPage();
  await page.setContent('<p id="sum"></p><script>document.getElementById("sum").textContent = String(40 + 2)</script>');
  expect(await page.textContent('#sum')).toBe('42');
  await browser.close();
});

test('a process that ends early is reported with what it printed', async () => {
  const child = startProcess(process.execPath, ['-e', 'console.log("so far"); process.exit(3)']);
  await expect(child.printed('never')).rejects.toThrow(/so far/);
  expect(await child.exited).toBe(3);
});

test('a free port is given to one caller and not to outgoing connections', async () => {
  const ports = await Promise.all(Array.from({ length: 300 }, freePort));
  expect(new Set(ports).size).toBe(300);
  expect(Math.max(...ports)).toBeLessThan(32_768);
});
