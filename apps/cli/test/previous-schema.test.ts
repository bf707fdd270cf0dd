// The schema of the release before, column by column: its statements must go on working while instances are replaced.
import { migrateAgent } from '@palaver/agent/migrate';
import { createBundledPlugins } from '@palaver/agent-plugins';
import { createTempDir, createTestDatabase, engines, listColumns } from '@palaver/test-kit';
import { migrateUssdDatabase } from '@palaver/ussd/commands/database';
import { expect, test } from 'vitest';
import previous from './fixtures/previous-schema.json' with { type: 'json' };

test('PostgreSQL compares every text by the byte, whatever the language of the server', async () => {
  await using dir = await createTempDir();
  await using database = await createTestDatabase('postgres');
  const env = { DATA_DIR: dir.path, DATABASE_URL: database.url };
  await migrateUssdDatabase(env);
  await migrateAgent(env, createBundledPlugins());
  const texts = Object.entries(await listColumns(database.url)).filter(([, { type }]) => /text|char/.test(type));
  expect(texts.length).toBeGreaterThan(100);
  const others = texts.flatMap(([name, { collation }]) => (collation === 'C' ? [] : [name]));
  // Its words are only looked up in an index that is computed from it.
  expect(others).toEqual(['agent_memory.words']);
});

test.each(engines)('the schema on %s only expands: the release before reads and writes it', async (engine) => {
  await using dir = await createTempDir();
  await using database = await createTestDatabase(engine);
  const env = { DATA_DIR: dir.path, DATABASE_URL: database.url };
  await migrateUssdDatabase(env);
  await migrateAgent(env, createBundledPlugins());
  const now = Object.fromEntries(
    Object.entries(await listColumns(database.url)).map(([name, { type, required }]) => [
      name,
      required ? `${type}, required` : type,
    ]),
  );
  const before: Record<string, string> = previous[engine];
  const tables = new Set(Object.keys(before).map((name) => name.split('.')[0]));

  // What it reads and compares is there, of the same type.
  const typeOf = (text: string | undefined) => text?.replace(', required', '');
  const changed = Object.keys(before).filter((name) => typeOf(now[name]) !== typeOf(before[name]));
  expect(changed).toEqual([]);
  // What it does not write may be left out.
  const demanded = Object.keys(now).filter(
    (name) => tables.has(name.split('.')[0]) && now[name]?.endsWith('required') && !before[name]?.endsWith('required'),
  );
  expect(demanded).toEqual([]);
});
