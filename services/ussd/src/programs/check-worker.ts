import { parentPort } from 'node:worker_threads';
import { checkProgram } from '../menu/check-program.ts';
import { fromPlainRegistry, type PlainCheck, type PlainRegistry, toPlainCheck } from '../menu/plain-menu.ts';
import type { ProgramSource } from '../menu/program-source.ts';

export interface CheckCall {
  id: number;
  source: ProgramSource;
  base: ProgramSource;
  registry: PlainRegistry;
}

export interface CheckReply {
  id: number;
  check: PlainCheck;
}

parentPort?.on('message', ({ id, source, base, registry }: CheckCall) => {
  const check = toPlainCheck(checkProgram(source, fromPlainRegistry(registry), base));
  parentPort?.postMessage({ id, check } satisfies CheckReply);
});
