// Without arguments it runs all tests but `*.system.test.ts`, which start processes, browsers or several services. With
// arguments it runs those under the given folders, systems included: `node scripts/test.ts services/ussd`. Other arguments go
// to Vitest unchanged. The last line is always `N passed, N failed, N skipped`.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { summarise } from '@palaver/test-kit/summary';
import { parseCLI, startVitest } from 'vitest/node';
import { bundlePrograms } from './bundle-programs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);
// Tests start hundreds of processes that load the same modules: compiled once, they start with a third less CPU time.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/node-compile');
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const systemTests = '.system.test.ts';
if (filter.length === 0) options.cliExclude = [`**/*${systemTests}`];
if (filter.length === 0 || filter[0] === systemTests) {
  // Bundled, they take half of the rest. Bundling takes seconds, which a run of a few files does not win back.
  const programs = [
    ...['agent', 'devnode', 'gateway', 'ussd'].map((service) => `services/${service}/src/main.ts`),
    'apps/cli/src/main.ts',
    'packages/agent/test/bank-agent.ts',
  ];
  const folder = join(root, 'node_modules/.cache/programs');
  process.env.TEST_NODE_OPTIONS = await bundlePrograms({ root, programs, folder });
}
const vitest = await startVitest('test', filter, { ...options, watch: false });
const summary = summarise(vitest.state.getTestModules(), vitest.state.getUnhandledErrors().length);
const { passed, skipped, reasons } = summary;
// A run that could not even start (its servers, its configuration) leaves no failed test, only the exit code.
const failed = summary.failed || (process.exitCode || passed === 0 ? 1 : 0);
await vitest.close();

if (reasons.size > 0) console.log('\nSKIPPED:');
for (const [reason, count] of reasons) console.log(`  ${count} × ${reason}`);
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed > 0 ? 1 : 0);
