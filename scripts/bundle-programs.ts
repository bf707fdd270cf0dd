import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

export interface Programs {
  root: string;
  /** The main modules, below `root`. */
  programs: readonly string[];
  folder: string;
}

/** Each program then loads one file instead of up to 1,700. Returns an option for Node that runs programs from these files. */
export async function bundlePrograms({ root, programs, folder }: Programs): Promise<string> {
  for (const program of programs) {
    const input = join(root, program);
    await using bundle = await rolldown({ input, platform: 'node', logLevel: 'silent', plugins: [keepPlaces(input)] });
    await bundle.write({ file: join(folder, `${program}.js`), codeSplitting: false });
  }
  const loader = pathToFileURL(join(import.meta.dirname, 'load-bundle.js'));
  loader.search = String(new URLSearchParams({ root, folder }));
  return `--import=${loader}`;
}

/** Modules find the files beside them where those are. The main module keeps its own address. */
function keepPlaces(main: string): Plugin {
  return {
    name: 'keep-places',
    transform: {
      filter: { id: { include: /\.ts$/, exclude: /node_modules/ }, code: 'import.meta' },
      handler(code, id) {
        if (id === main) return null;
        return code
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)));
      },
    },
  };
}
