import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serviceCodePattern } from '@palaver/contract/internal';
import { programFile } from '@palaver/program/internal';
import { StartError } from '@palaver/service-kit';
import { makeFolder } from '@palaver/service-kit/internal';

export interface NewProgram {
  folder: string;
  code?: string | undefined;
  languages?: readonly string[] | undefined;
}

const template = fileURLToPath(new URL('../../template', import.meta.url));
const flowFile = 'flows/message.yaml';

export async function writeNewProgram({ folder, code = '*384*5#', languages }: NewProgram): Promise<string[]> {
  const name = toProgramName(folder);
  if (!serviceCodePattern.test(code)) throw new StartError(`"${code}" is not a service code such as *384*5#.`);
  await refuseFilled(folder);
  const all = (await readdir(join(template, 'locales'))).map((file) => basename(file, '.yaml')).sort();
  const wanted = languages ?? all;
  const unknown = wanted.filter((language) => !all.includes(language));
  if (unknown.length > 0 || wanted.length === 0)
    throw new StartError(`The template has the languages ${all.join(', ')}; others are added as files in locales/.`);
  makeProgramFolder(folder);
  await cp(template, folder, { recursive: true });
  for (const language of all) if (!wanted.includes(language)) await rm(join(folder, 'locales', `${language}.yaml`));
  const rewrite = async (path: string, change: (text: string) => string) =>
    writeFile(join(folder, path), change(await readFile(join(folder, path), 'utf8')));
  await rewrite(programFile, (text) =>
    text
      .replace(/^name: .*$/m, `name: ${name}`)
      .replace(/^codes: .*$/m, `codes: ["${code}"]`)
      .replace(/^languages: .*$/m, `languages: [${wanted.join(', ')}]`),
  );
  // The recorded dialogue is in English, and a program with one language offers no choice of it.
  const offer = wanted.length > 1 ? '' : /^.*Language, langue, lugha\n/m;
  if (wanted.includes('en'))
    await rewrite(flowFile, (text) => text.replaceAll('"*384*5#"', `"${code}"`).replace(offer, ''));
  else await rm(join(folder, flowFile));
  return (await readdir(folder, { recursive: true, withFileTypes: true }))
    .flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name) : []))
    .sort();
}

export function toProgramName(folder: string): string {
  const name = basename(resolve(folder));
  if (!/^[a-z][a-z0-9-]{0,39}$/.test(name))
    throw new StartError(`"${name}" cannot name a program: use small letters, digits and hyphens.`);
  return name;
}

export function makeProgramFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new StartError(`The folder ${folder} cannot be created: ${(error as Error).message}.`, { cause: error });
  }
}

async function refuseFilled(folder: string): Promise<void> {
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new StartError(`${folder}: ${error.message}`, { cause: error });
  });
  if (files.length > 0) throw new StartError(`${folder} is not empty. Name a folder that does not exist yet.`);
}
