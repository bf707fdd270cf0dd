import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A fault that somebody could make in the code. */
export interface Mutation {
  name: string;
  /** From the root of the repository. */
  file: string;
  /** Each text is in the file exactly once. */
  edits: [text: string, replacement: string][];
}

const root = join(import.meta.dirname, '../../../..');

/** Puts a fault into the code as it is loaded; the files stay unchanged. Call it before the code is imported. */
export function mutate({ name, file, edits }: Mutation): void {
  const mutated = pathToFileURL(join(root, file)).href;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (url !== mutated) return loaded;
      let source = String(loaded.source);
      for (const [text, replacement] of edits) {
        if (source.split(text).length !== 2) throw new Error(`${name}: not exactly once in ${file}: ${text}`);
        source = source.replace(text, () => replacement);
      }
      return { ...loaded, source };
    },
  });
}
