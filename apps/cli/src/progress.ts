export interface Progress {
  show(text: string): void;
  clear(): void;
}

/** Shows the progress of long work in one line. Writes nothing if standard error is not a terminal. */
export function createProgress(): Progress {
  const write = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  };
  return { show: (text) => write(text.slice(0, process.stderr.columns - 1)), clear: () => write('') };
}
