import { AppError } from '@palaver/contract';
import { type Menu, type MenuCheck, type ProgramSource, programFile, type Registry } from '@palaver/program/internal';
import { startThread, type Thread } from '@palaver/service-kit/internal';
import { validators } from '../actions/validators.ts';
import { fromPlainMenu, toPlainMenu, toPlainRegistry } from './plain-menu.ts';
import type { ProgramCall, ProgramReply } from './program-worker.ts';
import type { Trial } from './try-program.ts';

export type CheckProgram = (source: ProgramSource, base: ProgramSource) => MenuCheck | Promise<MenuCheck>;

export interface ProgramChecksOptions {
  timeoutMs?: number;
  tryMs?: number;
  ownActions?: string | undefined;
}

const workerFile = new URL(import.meta.url.replace(/program-checks(\.[jt]s)(\?.*)?$/, 'program-worker$1'));
const idleMs = 30_000;

/** Uses threads with limits, so that callers are served whatever a program holds. */
export function createProgramChecks(
  registry: Registry,
  { timeoutMs = 60_000, tryMs = 20_000, ownActions }: ProgramChecksOptions = {},
) {
  const hasOwn = Object.entries(registry.validators).some(([name, validator]) => validators[name] !== validator);
  const host = { registry: toPlainRegistry(registry), ownActions: hasOwn ? ownActions : undefined };
  const [inUse, drafts] = [createIdleThread('the check of a program'), createIdleThread('a draft')];

  const checkIn =
    (send: Send): CheckProgram =>
    async (source, base) => {
      try {
        const reply = await send({ kind: 'check', source, base, ...host }, timeoutMs);
        if (!('check' in reply)) throw new Error('fault' in reply ? reply.fault : 'no check');
        const { check } = reply;
        return check.ok ? { ...check, menu: fromPlainMenu(check.menu, registry) } : check;
      } catch (error) {
        const message = `${(error as Error).message}; a program of this size must be simpler`;
        return { ok: false, faults: [{ file: programFile, line: 1, message }] };
      }
    };

  return {
    /** For what is taken into use. A caller may wait for it, so it waits for nothing that operators try. */
    check: checkIn(inUse.send),
    checkDraft: checkIn(drafts.send),
    async try(key: string, menu: Menu, trial: Trial) {
      const call = { kind: 'try', key, menu: toPlainMenu(menu), trial, ...host } as const;
      const reply = await drafts.send(call, tryMs).catch((error: Error) => {
        throw new AppError('VALIDATION_FAILED', `The inputs cannot be tried: ${error.message}.`);
      });
      if ('refused' in reply) throw new AppError('VALIDATION_FAILED', reply.refused);
      if (!('tried' in reply)) throw new Error(`a trial failed: ${'fault' in reply ? reply.fault : 'no reply'}`);
      return reply.tried;
    },
    close() {
      inUse.stop();
      drafts.stop();
    },
  };
}

type Send = Thread<ProgramCall, ProgramReply>['send'];

function createIdleThread(what: string): { send: Send; stop(): void } {
  let thread: Thread<ProgramCall, ProgramReply> | undefined;
  let idle: NodeJS.Timeout | undefined;
  const stop = () => {
    clearTimeout(idle);
    thread?.retire();
    thread = undefined;
  };
  return {
    stop,
    async send(call, limitMs) {
      clearTimeout(idle);
      if (!thread?.isUsable()) thread = startThread(workerFile, { what, maxMemoryMb: 512, maxWaiting: 20 });
      try {
        return await thread.send(call, limitMs);
      } finally {
        clearTimeout(idle);
        idle = setTimeout(stop, idleMs).unref();
      }
    },
  };
}
