import { existsSync, realpathSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { shutdownTimeoutMs } from '@palaver/contract/internal';
import { type Env, withEnvFile } from './config.ts';
import { StartError } from './errors.ts';
import type { Server } from './server.ts';

const stuckExitMs = 3_000;
const parentCheckMs = 250;

/** A running service, as `main.ts` returns it and `palaver up` keeps it. */
export interface RunningService {
  name: string;
  url: string;
  /** How long it keeps serving after a signal; the 10 s for closing begin after it. */
  drainDelayMs?: number;
  close(): Promise<void>;
}

interface ListenOptions {
  host: string;
  port: number;
  portName?: string | undefined;
}

/** Connections that wait in the system while the service is busy, as far as it allows; others retry after seconds. */
const backlog = 4_096;

/**
 * Listens and returns the address; a port in use is reported in one sentence.
 *
 * @example
 * ```ts
 * import { listen, type Server } from '@palaver/service-kit';
 *
 * export const open = (server: Server) => listen(server, { host: '127.0.0.1', port: 4200, portName: 'HERD_PORT' });
 * ```
 */
export async function listen(server: Server, { host, port, portName = 'PORT' }: ListenOptions): Promise<string> {
  try {
    await server.listen({ host, port, backlog, listenTextResolver: (address) => `listening on ${address}` });
  } catch (error) {
    throw toListenError(error, { host, port, portName });
  }
  const address = server.server.address() as AddressInfo;
  return `http://${toReachableHost(address.address)}:${address.port}`;
}

/** The host at which a listening address is reached: all addresses include this machine's own. */
export function toReachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

export function toListenError(error: unknown, { host, port, portName }: Required<ListenOptions>): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    EADDRINUSE: `Port ${port} is already in use; stop the other program or set ${portName} to another port.`,
    EACCES: `Port ${port} may not be used by this user; set ${portName} to one above 1023.`,
    EADDRNOTAVAIL: `This machine has no address ${host}; set HOST to one it has.`,
    ENOTFOUND: `The host name ${host} is not known; set HOST to an address of this machine.`,
  };
  const reason = reasons[code ?? ''];
  return reason ? new StartError(reason, { cause: error }) : error;
}

/**
 * Whether a module is the program that Node was started with. Node 22 has no `import.meta.main`.
 *
 * @example
 * ```ts
 * import { isMain } from '@palaver/service-kit';
 *
 * if (isMain(import.meta.url)) console.log('started as a program');
 * ```
 */
export function isMain(moduleUrl: string): boolean {
  const program = process.argv[1];
  return program !== undefined && existsSync(program) && realpathSync(program) === fileURLToPath(moduleUrl);
}

/**
 * Runs a service's `main.ts` when it is the program. A fault at the start prints one message and exits with status 1.
 *
 * @example
 * ```ts
 * import { type RunningService, runMain } from '@palaver/service-kit';
 *
 * export const main = (start: () => Promise<RunningService>) => runMain(start, process.env);
 * ```
 */
export async function runMain(start: (env: Env) => Promise<RunningService>, env: Env): Promise<void> {
  try {
    const service = await start(withEnvFile(env));
    stopOnSignals([service], env);
  } catch (error) {
    exitOnStartFault(error);
  }
}

/** Prints why the start failed, in one message if the cause is known. The process then exits with code 1. */
export function exitOnStartFault(fault: unknown): void {
  let error = fault;
  // What was open also failed to close; the first fault is the one to fix. Node 22 does not have the class.
  while (error instanceof Error && error.name === 'SuppressedError') error = (error as SuppressedError).suppressed;
  const stack = error instanceof Error ? error.stack : String(error);
  const known = error instanceof Error && ['StartError', 'StoreError'].includes(error.name);
  process.stderr.write(`${known ? (error as Error).message : stack}\n`);
  process.exitCode = 1;
  // Code of others (a plugin, an action) may have left something open that a supervisor must not wait for.
  setTimeout(() => process.exit(1), stuckExitMs).unref();
}

/**
 * Ends a server: out of service for `drainDelayMs`, then no new connections and 10 s for what is in flight.
 *
 * @example
 * ```ts
 * import { closeServer, type Server } from '@palaver/service-kit';
 *
 * export const close = (server: Server) => closeServer(server, 5_000);
 * ```
 */
export async function closeServer(server: Server, drainDelayMs = 0): Promise<void> {
  await server.lifecycle.drain(drainDelayMs);
  await server.lifecycle.close();
}

/** Keeps the process until SIGTERM or Ctrl-C, closes everything within 10 s and exits 0. A second signal exits at once. */
export function stopOnSignals(services: RunningService[], env: Env): void {
  let stoppingSince: number | undefined;
  const stop = async (signal: NodeJS.Signals) => {
    if (stoppingSince !== undefined) {
      // Ctrl-C under npm arrives twice, from the terminal and from npm: only a later one asks to exit at once.
      if (Date.now() - stoppingSince > 1_000) process.exit(130);
      return;
    }
    stoppingSince = Date.now();
    const drainDelayMs = Math.max(0, ...services.map((service) => service.drainDelayMs ?? 0));
    process.stderr.write(`${signal}: stopping\n`);
    const late = setTimeout(() => {
      process.stderr.write('Not everything ended in time.\n');
      process.exit(0);
    }, shutdownTimeoutMs + drainDelayMs);
    const closed = await Promise.allSettled(services.map((service) => service.close()));
    for (const [index, result] of closed.entries()) {
      if (result.status === 'rejected')
        process.stderr.write(`${services[index]?.name} did not close cleanly: ${result.reason}\n`);
    }
    clearTimeout(late);
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  if (env.npm_lifecycle_event) onParentEnd(() => stop('SIGTERM'));
}

/** npm runs a script in a shell that does not pass SIGTERM on: it ends and leaves its children behind. */
function onParentEnd(stop: () => Promise<void>): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    void stop();
  }, parentCheckMs);
  timer.unref();
}

/**
 * What a start has opened, to be closed in reverse order. The same as `AsyncDisposableStack`, which Node 22 does not have.
 *
 * @example
 * ```ts
 * import { CloseStack, keepOpen } from '@palaver/service-kit';
 * import { openStore } from '@palaver/store';
 *
 * export async function start(url: string) {
 *   await using started = new CloseStack(); // closes everything if a later line throws
 *   const store = await openStore(url);
 *   started.defer(() => store.close());
 *   return { store, close: keepOpen(started) };
 * }
 * ```
 */
export class CloseStack implements AsyncDisposable {
  #closers: (() => unknown)[] = [];

  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  adopt<Part>(part: Part, close: (part: Part) => unknown): Part {
    this.defer(() => close(part));
    return part;
  }

  /** A stack with everything in this one, which is empty afterwards. */
  move(): CloseStack {
    const moved = new CloseStack();
    moved.#closers = this.#closers;
    this.#closers = [];
    return moved;
  }

  /** Closes everything, the last opened first. A part that fails to close does not keep the others open. */
  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, 'several parts did not close');
  }
}

/**
 * The end of a start that went well: what the stack holds stays open, and the returned function closes it, once.
 *
 * @example
 * ```ts
 * import { CloseStack, keepOpen } from '@palaver/service-kit';
 *
 * export async function start() {
 *   await using started = new CloseStack();
 *   const timer = started.adopt(setInterval(() => {}, 1_000), clearInterval);
 *   return { timer, close: keepOpen(started) };
 * }
 * ```
 */
export function keepOpen(started: CloseStack): () => Promise<void> {
  const open = started.move();
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= open[Symbol.asyncDispose]();
    return closing;
  };
}
