import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SourceFile } from '@palaver/program/internal';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { ListedForm, OpenRosaClient } from './openrosa-client.ts';

export interface FetchedForms {
  /** The forms as files of a program: `forms/server/ID.xml`, and what they use in `forms/server/ID/`. */
  files(): readonly SourceFile[];
  stop(): void;
}

export interface FetchParts {
  client: OpenRosaClient;
  folder: string;
  refreshMs: number;
  logger: Logger;
  onChange(): void;
}

export const serverFolder = 'forms/server/';
const usable = /^[\w][\w.-]{0,99}$/;
const textFile = /\.(csv|xml|geojson)$/i;

/** Fetches the forms of the server now and on a schedule. A form that cannot be fetched stays as it was. */
export async function startFetching(parts: FetchParts): Promise<FetchedForms> {
  const { client, folder, refreshMs, logger, onChange } = parts;
  let files = await readKept(folder);
  const hashes = new Map<string, string>();
  /** A form counts as fetched once it is kept: until then every refresh fetches it again. */
  const refreshForm = async (form: ListedForm): Promise<boolean> => {
    const fetched = await fetchForm(client, form, hashes.get(form.formId));
    if (!fetched) return false;
    const place = `${serverFolder}${form.formId}`;
    const own = (path: string) => path === `${place}.xml` || path.startsWith(`${place}/`);
    const before = files.filter(({ path }) => own(path));
    const isSame =
      before.length === fetched.files.length &&
      fetched.files.every(({ path, text }) => before.some((file) => file.path === path && file.text === text));
    if (!isSame) {
      await keep(folder, fetched.files);
      files = [...files.filter(({ path }) => !own(path)), ...fetched.files];
    }
    hashes.set(form.formId, fetched.hash);
    return !isSame;
  };
  const refresh = async (): Promise<boolean> => {
    let isChanged = false;
    for (const form of await client.listForms()) {
      if (!usable.test(form.formId)) continue;
      try {
        if (await refreshForm(form)) isChanged = true;
      } catch (error) {
        logger.warn({ err: error, form: form.formId }, 'a form of the server cannot be fetched; it stays as it was');
      }
    }
    return isChanged;
  };
  const warn = (error: unknown) =>
    logger.warn({ err: error }, 'the forms of the server cannot be fetched; those that were fetched before are in use');
  await refresh().catch(warn);
  const work = async () => {
    if (await refresh()) onChange();
  };
  const refreshing = runEvery({ everyMs: refreshMs, work, onFault: warn });
  return { files: () => files, stop: () => void refreshing.stop() };
}

async function fetchForm(client: OpenRosaClient, form: ListedForm, known: string | undefined) {
  const all = await client.listMedia(form);
  const media = all.filter(({ filename }) => usable.test(filename) && textFile.test(filename));
  const listed = [form.hash, form.version, ...media.map(({ filename, hash }) => `${filename} ${hash}`)].join('\n');
  const hash = createHash('sha256').update(listed).digest('hex');
  if (hash === known) return undefined;
  const path = `${serverFolder}${form.formId}`;
  const files = [
    { path: `${path}.xml`, url: form.downloadUrl },
    ...media.map(({ filename, downloadUrl: url }) => ({ path: `${path}/${filename}`, url })),
  ];
  const texts: SourceFile[] = [];
  for (const file of files) texts.push({ file: file.url, path: file.path, text: await client.download(file.url) });
  return { hash, files: texts };
}

async function keep(folder: string, files: readonly SourceFile[]): Promise<void> {
  for (const { path, text } of files) {
    const file = join(folder, path.slice(serverFolder.length));
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}

async function readKept(folder: string): Promise<SourceFile[]> {
  const names = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const kept = names.filter((name) => textFile.test(name)).sort();
  return Promise.all(
    kept.map(async (name) => {
      const file = join(folder, name);
      return { file, path: `${serverFolder}${name.replaceAll('\\', '/')}`, text: await readFile(file, 'utf8') };
    }),
  );
}
