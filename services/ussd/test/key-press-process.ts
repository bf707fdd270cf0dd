// Dials, presses one key, and prints the files whose functions ran meanwhile. Its argument is an empty folder.
import { Session } from 'node:inspector/promises';
// biome-ignore lint/style/noRestrictedImports: the tests of the whole service start it whole.
import { startUssd } from '../src/main.ts';

const part = /\/(?:services\/ussd|packages\/program)\/src\/.*\.ts$/;

const service = await startUssd({
  PORT: '0',
  LOG_LEVEL: 'silent',
  DATA_DIR: process.argv[2],
  USSD_WATCH_MENUS: 'false',
});
const press = async (text: string) => {
  const fields = { sessionId: 'pressed', serviceCode: '*1234#', phoneNumber: '+254700000001', text };
  await (await fetch(`${service.url}/api/ussd`, { method: 'POST', body: new URLSearchParams(fields) })).text();
};
await press('');
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true });
// What was called before is counted no longer.
await session.post('Profiler.takePreciseCoverage');
await press('1');
const { result } = await session.post('Profiler.takePreciseCoverage');
const passed = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
process.stdout.write(JSON.stringify(passed.flatMap(({ url }) => part.exec(url)?.[0] ?? [])));
await service.close();
