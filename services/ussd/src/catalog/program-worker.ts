import { parentPort } from 'node:worker_threads';
import { AppError } from '@palaver/contract';
import { createForms } from '@palaver/forms/internal';
import { checkProgram, ExpressionLimit, type Menu, type ProgramSource, type Registry } from '@palaver/program/internal';
import { LRUCache } from 'lru-cache';
import { loadOwnActions } from '../actions/action.ts';
import { validators } from '../actions/validators.ts';
import { fromPlainMenu, type PlainCheck, type PlainMenu, toPlainCheck } from './plain-menu.ts';
import { type PlayedTrial, type Trial, tryProgram } from './try-program.ts';

interface Host {
  id: number;
  registry: Registry;
  /** The module, if it has validators. */
  ownActions: string | undefined;
}

interface CheckCall extends Host {
  kind: 'check';
  source: ProgramSource;
  base: ProgramSource;
}

interface TryCall extends Host {
  kind: 'try';
  /** Which draft it is: its forms stay loaded between two calls. */
  key: string;
  menu: PlainMenu;
  trial: Trial;
}

export type ProgramCall = CheckCall | TryCall;

export type ProgramReply =
  | { id: number; check: PlainCheck }
  | { id: number; tried: PlayedTrial }
  /** What is wrong with the program or with the inputs. */
  | { id: number; refused: string }
  | { id: number; fault: string };

const forms = createForms({ threads: 1 });
const menus = new LRUCache<string, Menu>({ max: 5 });

async function run(call: ProgramCall): Promise<ProgramReply> {
  const { id } = call;
  try {
    if (call.kind === 'check')
      return { id, check: toPlainCheck(checkProgram(call.source, await toRegistry(call), call.base)) };
    return { id, tried: await tryProgram(await takeMenu(call), forms, call.trial) };
  } catch (error) {
    if (error instanceof ExpressionLimit) return { id, refused: `In this program ${error.message}.` };
    if (error instanceof AppError) return { id, refused: error.message };
    return { id, fault: error instanceof Error ? error.message : String(error) };
  }
}

async function takeMenu({ key, menu, ...host }: TryCall): Promise<Menu> {
  const known = menus.get(key) ?? fromPlainMenu(menu, await toRegistry(host));
  menus.set(key, known);
  return known;
}

/** The code of validators does not cross to a thread: it is loaded again. */
async function toRegistry({ registry, ownActions }: Host): Promise<Registry> {
  const own = await loadOwnActions(ownActions);
  return { ...registry, validators: { ...validators, ...own.validators } };
}

parentPort?.on('message', (call: ProgramCall) => {
  run(call).then((reply) => parentPort?.postMessage(reply));
});
