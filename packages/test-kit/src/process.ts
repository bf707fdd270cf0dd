import { type ChildProcess, spawn } from 'node:child_process';
import { waitFor } from './wait-for.ts';

export interface TestProcess {
  child: ChildProcess;
  /** Everything printed so far, standard output and error together. */
  output(): string;
  /** Resolves once `pattern` was printed. */
  printed(pattern: string | RegExp, timeoutMs?: number): Promise<void>;
  /** Resolves with the exit code (or the signal's name) once the process has ended. */
  exited: Promise<number | string>;
  kill(signal?: NodeJS.Signals): void;
}

export interface StartOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Signals reach the processes it starts too, as Ctrl-C at a terminal does. */
  group?: boolean;
}

/** Starts a real process for a test and collects what it prints. */
export function startProcess(command: string, args: string[], options: StartOptions = {}): TestProcess {
  const { PATH, HOME, NODE_COMPILE_CACHE, TEST_NODE_OPTIONS } = process.env;
  const child = spawn(command, args, {
    cwd: options.cwd,
    detached: options.group ?? false,
    env: { PATH, HOME, NODE_COMPILE_CACHE, NODE_OPTIONS: TEST_NODE_OPTIONS, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const collect = (chunk: Buffer) => {
    text += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const exited = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const matches = (pattern: string | RegExp) =>
    typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text);
  return {
    child,
    exited,
    output: () => text,
    async printed(pattern, timeoutMs = 150_000) {
      const what = `${pattern} in the output of ${command}`;
      const early = exited.then((code) => {
        if (!matches(pattern)) throw new Error(`it ended with ${code} before ${what}:\n${text}`);
      });
      await Promise.race([waitFor(what, () => matches(pattern), timeoutMs), early]);
    },
    kill(signal = 'SIGKILL') {
      if (options.group && child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
      else child.kill(signal);
    },
  };
}
