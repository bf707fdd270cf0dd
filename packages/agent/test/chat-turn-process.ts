// Sends two messages of one session to an agent without plugins, and prints the files whose functions ran for the second.
// Its argument is an empty folder.
import { Session } from 'node:inspector/promises';
import { createLogger } from '@palaver/service-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { createAgent } from '../src/index.ts';

const part = /\/packages\/agent\/src\/.*\.ts$/;

const agent = await createAgent({
  logger: createLogger({ name: 'agent', level: 'silent' }),
  env: { PORT: '0', DATA_DIR: process.argv[2] },
});
const url = await agent.listen();
const issuer = await createSigner();
const capability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;
const { serialized } = await createInvocation({ issuer, audience: agent.did, capability });
const headers = { authorization: `Bearer ${serialized}`, 'x-auth-type': 'ucan', 'content-type': 'application/json' };
const post = async (path: string, body: object) =>
  (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
const { sessionId } = JSON.parse(await post('/sessions', {}));
const say = (message: string) => post(`/messages/${sessionId}`, { message, stream: true });
await say('hello');
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true });
// What was called before is counted no longer.
await session.post('Profiler.takePreciseCoverage');
await say('hello again');
const { result } = await session.post('Profiler.takePreciseCoverage');
const passed = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
process.stdout.write(JSON.stringify(passed.flatMap(({ url: file }) => part.exec(file)?.[0] ?? [])));
await agent.close();
