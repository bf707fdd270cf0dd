// After `npm install`: removes large files of packages that nothing here reads. Runs on the machine's Node, any version.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../node_modules', import.meta.url));
const remove = (...path) => rmSync(join(modules, ...path), { recursive: true, force: true });

// Node's C headers (67 MB) are for building native add-ons, and nothing here is built; its manuals are on the web.
for (const name of readdirSync(modules).filter((name) => /^node-(bin-)?(darwin|linux|win)-[a-z0-9]+$/.test(name)))
  for (const part of ['include', 'share', 'CHANGELOG.md']) remove(name, part);

// typed-emitter, whose types livekit-client uses, brings rxjs (12 MB) for an entry that nobody imports.
for (const part of ['dist', 'src']) remove('rxjs', part);

// Sources (20 MB) of packages that ship them beside what is run, for debuggers.
const inScope = (scope) => (existsSync(join(modules, scope)) ? readdirSync(join(modules, scope)) : []);
for (const name of ['zod', 'zod3', 'livekit-client', '@livekit/protocol', '@grpc/grpc-js']) remove(name, 'src');
for (const name of inScope('@ai-sdk')) remove('@ai-sdk', name, 'src');
for (const name of inScope('@opentelemetry')) remove('@opentelemetry', name, 'build', 'esnext');

// Tests of dependencies (8 MB), which some packages ship.
for (const name of ['fastify', 'bintrees', 'pino', 'find-my-way', 'fast-json-stringify', 'light-my-request'])
  remove(name, 'test');
for (const name of inScope('@fastify')) remove('@fastify', name, 'test');

// Builds (5 MB) beside the one that the console's page is made of.
for (const name of ['react', 'system']) remove('@xyflow', name, 'dist', 'umd');
for (const part of ['umd', 'lib']) remove('fflate', part);
for (const file of ['development', 'profiling']) remove('react-dom', 'cjs', `react-dom-profiling.${file}.js`);

// Source maps of dependencies (35 MB) are for stepping through their code in a debugger.
removeMaps(modules);

function removeMaps(folder) {
  for (const entry of existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeMaps(path);
    else if (entry.isFile() && /\.(js|cjs|mjs|ts|cts|mts|css)\.map$/.test(entry.name)) rmSync(path, { force: true });
  }
}
