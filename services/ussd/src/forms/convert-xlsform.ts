import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const timeoutMs = 60_000;
const known = new Map<string, string>();
const maxKnown = 50;

export class XlsFormFault extends Error {
  override readonly name = 'XlsFormFault';
}

/**
 * Converts an XLSForm to the XML that engines read, with pyxform. A form without settings has the name of its file as its id. What was
 * converted before is remembered.
 */
export async function convertXlsForm(file: string, bytes: Uint8Array): Promise<string> {
  const name = basename(file);
  const hash = createHash('sha256').update(`${name}\0`).update(bytes).digest('hex');
  const before = known.get(hash);
  if (before !== undefined) return before;
  const folder = await mkdtemp(join(tmpdir(), 'palaver-xlsform-'));
  try {
    const [input, output] = [join(folder, name), join(folder, `${name}.xml`)];
    await writeFile(input, bytes);
    // Validation by Java is for those who write forms; ODK's engine refuses what it cannot run.
    await run('xls2xform', ['--skip_validate', input, output], { timeout: timeoutMs });
    const xml = await readFile(output, 'utf8');
    if (known.size >= maxKnown) known.clear();
    known.set(hash, xml);
    return xml;
  } catch (error) {
    throw new XlsFormFault(faultOf(error));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function faultOf(error: unknown): string {
  const {
    code,
    stderr = '',
    stdout = '',
    message,
  } = error as NodeJS.ErrnoException & { stderr?: string; stdout?: string };
  if (code === 'ENOENT')
    return 'an XLSForm is converted by pyxform, which is not on this machine: "pip install pyxform", or put the form here as XML';
  const lines = `${stdout}\n${stderr}`.split('\n').flatMap((line) => line.trim() || []);
  const said = lines.findLast((line) => !/^(Traceback|File |\^|[~^]+$)/.test(line));
  return `pyxform cannot convert the form: ${said ?? message}`;
}
