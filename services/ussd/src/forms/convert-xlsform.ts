import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { sizeFault } from '../programs/program-files.ts';

const run = promisify(execFile);
const timeoutMs = 60_000;
/** A workbook of a few kilobytes can unpack to gigabytes. The shell sets limits of the kernel: memory, and the size of a file. */
const limits = 'ulimit -d 1000000; ulimit -f 32768';
const shell = '/bin/sh';
/** The conversion before, however it ended: one runs at a time. */
let last: Promise<unknown> = Promise.resolve();
const known = new LRUCache<string, string>({ max: 50 });

export class XlsFormFault extends Error {
  override readonly name = 'XlsFormFault';
}

/**
 * Converts an XLSForm to the XML that engines read, with pyxform. A form without settings has the name of its file as its id. What was
 * converted before is remembered.
 */
export function convertXlsForm(file: string, bytes: Uint8Array): Promise<string> {
  const converted = last.then(() => convert(file, bytes));
  last = converted.catch(() => {});
  return converted;
}

async function convert(file: string, bytes: Uint8Array): Promise<string> {
  const name = basename(file);
  const hash = createHash('sha256').update(`${name}\0`).update(bytes).digest('hex');
  const before = known.get(hash);
  if (before !== undefined) return before;
  const folder = await mkdtemp(join(tmpdir(), 'palaver-xlsform-'));
  try {
    const [input, output] = [join(folder, name), join(folder, `${name}.xml`)];
    await writeFile(input, bytes);
    // Validation by Java is for those who write forms; ODK's engine refuses what it cannot run.
    const said = await runConverter(['--skip_validate', input, output]);
    const written = await stat(output).catch(() => {
      // It ends without an error where it could not write.
      throw Object.assign(new Error('it wrote no file'), said);
    });
    const large = sizeFault([{ path: name, bytes: written.size }]);
    if (large) throw new XlsFormFault(`as XML it ${large.message}`);
    const xml = await readFile(output, 'utf8');
    known.set(hash, xml);
    return xml;
  } catch (error) {
    throw error instanceof XlsFormFault ? error : new XlsFormFault(faultOf(error));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Without the rest of the environment, which holds secrets. */
async function runConverter(args: string[]): Promise<{ stdout: string; stderr: string }> {
  // biome-ignore lint/style/noProcessEnv: where programs are found on this machine, not configuration.
  const { PATH, HOME } = process.env;
  const options = { timeout: timeoutMs, killSignal: 'SIGKILL', env: { PATH, HOME } } as const;
  if (process.platform === 'win32' || !existsSync(shell)) return run('xls2xform', args, options);
  return run(shell, ['-c', `${limits}; exec xls2xform "$@"`, shell, ...args], options);
}

function faultOf(error: unknown): string {
  const {
    code,
    stderr = '',
    stdout = '',
    message,
  } = error as NodeJS.ErrnoException & { stderr?: string; stdout?: string };
  // 127 is how a shell says that there is no such program.
  if (code === 'ENOENT' || Number(code) === 127)
    return 'an XLSForm is converted by pyxform, which is not on this machine: "pip install pyxform", or put the form here as XML';
  const lines = `${stdout}\n${stderr}`.split('\n').flatMap((line) => line.trim() || []);
  const said = lines.findLast((line) => !/^(Traceback|File |\^|[~^]+$)/.test(line));
  return `pyxform cannot convert the form: ${said ?? message}`;
}
