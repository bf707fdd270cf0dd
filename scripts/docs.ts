// Builds dist/site for any static file server: documents, services' OpenAPI documents, packages' TSDoc. `npm run docs`
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createOracleApp } from '@palaver/agent-plugins';
import { startDevnode } from '@palaver/devnode';
import { startGateway } from '@palaver/gateway';
import { installTools } from '@palaver/test-kit/install-tools';
import { type OpenApiDocument, toOpenApiPage } from './openapi-page.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'dist/site-source');
const site = join(root, 'dist/site');
const packages = [
  'agent',
  'agent-plugins',
  'offline-model',
  'oracles-client-sdk',
  'contract',
  'ucan',
  'store',
  'service-kit',
  'protocol',
];
const tools = installTools('docs');

rmSync(source, { recursive: true, force: true });
copyDocuments();
await writeServiceReferences();
writePackageReferences();
await buildSite();
console.log(`The site is in ${relative(process.cwd(), site)}.`);

/** Links to what is not part of the site become plain text. */
function copyDocuments(): void {
  const documents = globSync(['*.md', 'docs/**/*.md', '{packages,services,apps}/*/README.md'], { cwd: root });
  const known = new Set([...documents, ...globSync('docs/images/*', { cwd: root })]);
  for (const file of documents) {
    const text = readFileSync(join(root, file), 'utf8').replaceAll(
      /(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)/g,
      (link, _image, label, target) => (known.has(join(dirname(file), target)) ? link : label),
    );
    mkdirSync(join(source, dirname(file)), { recursive: true });
    writeFileSync(join(source, file), text);
  }
  cpSync(join(root, 'docs/images'), join(source, 'docs/images'), { recursive: true });
}

async function writeServiceReferences(): Promise<void> {
  const env = { DATA_DIR: join(tmpdir(), `palaver-docs-${process.pid}`), PORT: '0', LOG_LEVEL: 'error' };
  mkdirSync(join(source, 'reference'), { recursive: true });
  const agent = await createOracleApp({ env });
  writeReference('agent-service', JSON.parse((await agent.inject('/docs/json')).body));
  await agent.close();
  const node = await startDevnode(env);
  const gateway = await startGateway({ ...env, GATEWAY_UPSTREAMS: new URL(node.url).host });
  const reply = await fetch(`${gateway.url}/openapi.json`);
  writeReference('query-gateway', (await reply.json()) as OpenApiDocument);
  await gateway.close();
  await node.close();
  rmSync(env.DATA_DIR, { recursive: true, force: true });
}

function writeReference(name: string, document: OpenApiDocument): void {
  writeFileSync(join(source, `reference/${name}.md`), toOpenApiPage(document));
}

function writePackageReferences(): void {
  for (const name of packages) {
    const options = {
      plugin: join(tools, 'node_modules/typedoc-plugin-markdown/dist/index.js'),
      tsconfig: join(root, 'tsconfig.docs.json'),
      entryPoints: join(root, `packages/${name}/src/index.ts`),
      readme: 'none',
      name: `@palaver/${name}`,
      router: 'module',
      logLevel: 'Error',
      out: join(source, 'reference', name),
    };
    const args = Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]);
    args.unshift(join(tools, 'node_modules/typedoc/bin/typedoc'));
    args.push('--hideBreadcrumbs', '--disableSources', '--skipErrorChecking');
    if (spawnSync(process.execPath, args, { stdio: 'inherit', cwd: root }).status !== 0)
      throw new Error(`the reference of ${name} could not be written`);
  }
}

async function buildSite(): Promise<void> {
  cpSync(join(tools, 'site.config.js'), join(source, '.vitepress/config.js'));
  const { build } = await import(pathToFileURL(join(tools, 'node_modules/vitepress/dist/node/index.js')).href);
  await build(source, { outDir: site });
}
