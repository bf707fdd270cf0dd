// The fixture's node as a program of its own, so that a test can kill it: `node node-process.ts PORT`.
import { startFixtureNode } from './fixture-node.ts';

const node = await startFixtureNode({ port: Number(process.argv[2]) });
process.stdout.write(`listening on ${node.address}\n`);
