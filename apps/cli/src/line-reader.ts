import type { Interface } from 'node:readline';

/** Shows a question or the prompt and gives the next line; undefined at the end of the input or when `signal` fires. */
export type ReadLine = (question?: string, signal?: AbortSignal) => Promise<string | undefined>;

/** In a terminal only what is typed after a question answers it; elsewhere lines are sent ahead, for the next reader. */
export function createLineReader(lines: Interface, isTerminal: boolean): ReadLine {
  const typed: string[] = [];
  let hasEnded = false;
  let wake = () => {};
  lines.on('line', (line) => {
    typed.push(line);
    wake();
  });
  lines.on('close', () => {
    hasEnded = true;
    wake();
  });

  function drop(): void {
    if (!isTerminal || hasEnded) return;
    typed.length = 0;
    if (!lines.terminal) return; // The output is a file: the terminal itself keeps the line.
    // Ctrl-E goes to the end of the line, Ctrl-U deletes to its start.
    lines.write(null, { ctrl: true, name: 'e' });
    lines.write(null, { ctrl: true, name: 'u' });
  }

  function show(question: string | undefined): void {
    if (isTerminal && !hasEnded) {
      lines.setPrompt(question ?? '› ');
      lines.prompt();
    } else if (question) process.stderr.write(`${question}\n`);
  }

  return async (question, signal) => {
    if (question !== undefined) drop();
    show(question);
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    signal?.addEventListener('abort', () => resolve(), { once: true });
    if (typed.length === 0 && !hasEnded && !signal?.aborted) await promise;
    if (!signal?.aborted) return typed.shift();
    drop();
    return undefined;
  };
}
