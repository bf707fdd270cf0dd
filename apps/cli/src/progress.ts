export interface Progress {
  show(text: string): void;
  clear(): void;
}

/** One line on the terminal that says how far long work is. Nothing is written where standard error is no terminal. */
export function createProgress(): Progress {
  const write = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  };
  return { show: (text) => write(text.slice(0, process.stderr.columns - 1)), clear: () => write('') };
}
