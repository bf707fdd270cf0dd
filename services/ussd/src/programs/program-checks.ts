import type { MenuCheck } from '../menu/check-menu.ts';
import { checkProgram } from '../menu/check-program.ts';
import type { Registry } from '../menu/menu.ts';
import { fromPlainCheck, toPlainRegistry } from '../menu/plain-menu.ts';
import { type ProgramSource, programFile } from '../menu/program-source.ts';
import { startThread, type Thread } from '../thread.ts';
import type { CheckCall, CheckReply } from './check-worker.ts';

export type CheckProgram = (source: ProgramSource, base: ProgramSource) => MenuCheck | Promise<MenuCheck>;

/** Checks programs while callers are served: large ones in a thread of their own. */
export interface ProgramChecks {
  check: CheckProgram;
  /** In the thread whatever its size, for what nobody has checked before: a small program may take long. */
  checkAside: CheckProgram;
  close(): void;
}

const workerFile = new URL(import.meta.url.replace(/program-checks(\.[jt]s)(\?.*)?$/, 'check-worker$1'));
/** What is checked within the time of a few key presses. */
const smallCharacters = 16_000;
const idleMs = 30_000;
const threadOptions = { what: 'the check of a program', maxMemoryMb: 512, maxWaiting: 20 };

export function createProgramChecks(registry: Registry, { timeoutMs = 60_000 } = {}): ProgramChecks {
  const plain = toPlainRegistry(registry);
  let thread: Thread<CheckCall, CheckReply> | undefined;
  let idle: NodeJS.Timeout | undefined;
  const stop = () => {
    clearTimeout(idle);
    thread?.retire();
    thread = undefined;
  };

  async function checkAside(source: ProgramSource, base: ProgramSource): Promise<MenuCheck> {
    clearTimeout(idle);
    if (!thread?.isUsable()) thread = startThread(workerFile, threadOptions);
    try {
      const { check } = await thread.send({ source, base, registry: plain }, timeoutMs);
      return fromPlainCheck(check, registry);
    } catch (error) {
      const message = `${(error as Error).message}; a program of this size must be simpler`;
      return { ok: false, faults: [{ file: programFile, line: 1, message }] };
    } finally {
      clearTimeout(idle);
      idle = setTimeout(stop, idleMs).unref();
    }
  }

  return {
    check: (source, base) => {
      const size = source.files.reduce((sum, { text }) => sum + text.length, 0);
      return size <= smallCharacters ? checkProgram(source, registry, base) : checkAside(source, base);
    },
    checkAside,
    close: stop,
  };
}
