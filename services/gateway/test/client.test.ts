import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { toClientSource } from '../src/commands/list-routes.ts';
import { toOpenApi } from '../src/openapi.ts';
import { createRouteTable } from '../src/route-table.ts';
import { startFixtureNode } from './fixture-node.ts';
import { loadFixtureSchema } from './fixture-schema.ts';
import { startTestGateway } from './start-test-gateway.ts';

const run = promisify(execFile);

test('the written client compiles, asks with its types, and refuses what does not fit', async () => {
  await using folder = await createTempDir();
  await using node = await startFixtureNode();
  await using gateway = await startTestGateway({ GATEWAY_UPSTREAMS: node.address });
  const table = createRouteTable(loadFixtureSchema(), { source: '/ixo', served: '/ixo', legacy: [] });
  await writeFile(join(folder.path, 'client.ts'), toClientSource(toOpenApi(table)));
  const program = (call: string) => `import { createClient, RequestError } from './client.ts';
    const client = createClient({ baseUrl: ${JSON.stringify(gateway.url)} });
    ${call}`;
  const good = program(`
    const item = await client.get('/fixture/item/{id}', { id: 'a/b c', note: 'x&y' }, { height: 7 }).catch((error) => error);
    const thing = await client.get('/fixture/thing/{id}/of/{owner.name}', { id: '1', 'owner.name': 'ann' });
    const name: string | undefined = thing.owner?.name;
    const all = await client.get('/fixture/everything', { texts: ['a', 'b'], number: 5, flag: true, colour: 'COLOUR_RED' });
    const texts: string[] = all.texts;
    console.log(JSON.stringify([item instanceof RequestError && item.code, name, texts, all.colour]));`);
  await writeFile(join(folder.path, 'good.ts'), good);
  await writeFile(join(folder.path, 'bad.ts'), program(`await client.get('/fixture/item/{id}', { nope: 1 });`));
  const compile = (file: string) =>
    run(process.execPath, [
      join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc'),
      ...[
        '--ignoreConfig',
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2024',
        '--allowImportingTsExtensions',
      ],
      ...['--lib', 'es2024,dom,dom.iterable', '--types', '', join(folder.path, file)],
    ]).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
  await writeFile(join(folder.path, 'package.json'), '{"type":"module"}');
  expect(await compile('good.ts')).toBe('');
  expect(await compile('bad.ts')).toContain('bad.ts');
  const { stdout } = await run(process.execPath, [join(folder.path, 'good.ts')]);
  // An id with a slash is another path to the gateway, which has none such: the error is the gateway's.
  expect(JSON.parse(stdout)).toEqual([5, 'ann', ['a', 'b'], 'COLOUR_RED']);
});
