import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button, download, FileButton } from '../ui/controls.tsx';
import { addState, connectStates, setField } from './edit-program.ts';
import { toStateName } from './names.ts';
import { type Draft, type ProgramFiles, programApi } from './program-api.ts';
import { FaultyFile, readProgram } from './read-program.ts';

export function DraftBar({ name, draft }: { name: string; draft: EditedDraft }) {
  const { status } = draft;
  const [outcome, setOutcome] = useState({ isFault: false, text: '' });
  async function load(file: File): Promise<void> {
    const files = await fromZip(new Uint8Array(await file.arrayBuffer())).catch(() => ({}));
    const isProgram = 'program.yaml' in files;
    setOutcome({ isFault: true, text: isProgram ? '' : t('programs.notZip') });
    if (isProgram) draft.change(files);
  }
  async function add(file: File): Promise<void> {
    try {
      const added = await readAddedFile(name, draft.files, file);
      if ('refused' in added) return setOutcome({ isFault: true, text: t(added.refused, { name: file.name }) });
      const { path, text } = added;
      draft.change((files) => withFile(files, path, text));
      setOutcome({ isFault: false, text: t('try.recorded', { path }) });
    } catch (error) {
      setOutcome({ isFault: true, text: error instanceof Error ? error.message : String(error) });
    }
  }
  return (
    <div className="draft-bar">
      <Button text={t('programs.undo')} disabled={!draft.canUndo} onClick={draft.undo} />
      <Button text={t('programs.redo')} disabled={!draft.canRedo} onClick={draft.redo} />
      <Button text={t('programs.export')} icon="save" onClick={() => void saveZip(name, draft.files)} />
      <FileButton text={t('programs.import')} label={t('programs.importZip')} accept=".zip" onFile={load} />
      <FileButton
        text={t('programs.addFile')}
        label={t('programs.addFileNote')}
        accept=".xml,.xlsx,.csv,.json,.geojson"
        onFile={add}
      />
      {outcome.text && (
        <span className={outcome.isFault ? 'small over' : 'small'} role={outcome.isFault ? 'alert' : 'status'}>
          {outcome.text}
        </span>
      )}
      {draft.refused && (
        <span className="small over" role="alert">
          {draft.refused}
        </span>
      )}
      <span className={status.kind === 'failed' ? 'small over' : 'small quiet'} role="status">
        {status.kind === 'failed' ? status.message : t(status.kind === 'saved' ? 'programs.saved' : 'programs.saving')}
      </span>
    </div>
  );
}

type SaveStatus = { kind: 'saved' | 'waiting' } | { kind: 'failed'; message: string };

const maxSteps = 200;
const saveAfterMs = 700;

/** Every change can be undone, and is saved a moment later. */
export function useDraft(name: string, draft: Draft) {
  const queries = useQueryClient();
  const none: ProgramFiles[] = [];
  const [history, setHistory] = useState({ past: none, files: draft.files, future: none });
  const [status, setStatus] = useState<SaveStatus>({ kind: 'saved' });
  const [refused, setRefused] = useState('');
  const revision = useRef(draft.revision);
  const saved = useRef(draft.files);
  const saving = useRef(Promise.resolve());
  const { past, files, future } = history;
  // The next change starts from these files, even before the page is drawn again.
  const latest = useRef(files);
  latest.current = files;

  const save = useCallback(
    (next: ProgramFiles) => {
      saving.current = saving.current.then(async () => {
        if (saved.current === next) return;
        try {
          revision.current = (await programApi.saveDraft(name, { files: next, revision: revision.current })).revision;
          saved.current = next;
          setStatus({ kind: 'saved' });
          void queries.invalidateQueries({ queryKey: ['programs'] });
        } catch (error) {
          setStatus({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
        }
      });
      return saving.current;
    },
    [name, queries],
  );
  useEffect(() => {
    setRefused('');
    const isSaved = files === saved.current;
    setStatus({ kind: isSaved ? 'saved' : 'waiting' });
    if (isSaved) return undefined;
    const timer = setTimeout(() => void save(files), saveAfterMs);
    return () => clearTimeout(timer);
  }, [files, save]);

  return {
    files,
    status,
    refused,
    change: useCallback((change: ProgramFiles | ((files: ProgramFiles) => ProgramFiles)) => {
      try {
        const next = typeof change === 'function' ? change(latest.current) : change;
        if (next === latest.current) return false;
        latest.current = next;
        setHistory(({ past, files }) => ({ past: [...past.slice(-maxSteps), files], files: next, future: [] }));
        return true;
      } catch (error) {
        if (!(error instanceof FaultyFile)) throw error;
        const { path, line } = error;
        setRefused(t('programs.faultyFile', { path, line: String(line) }));
        return false;
      }
    }, []),
    canUndo: past.length > 0,
    canRedo: future.length > 0,
    undo: () =>
      setHistory(({ past, files, future }) => {
        const last = past.at(-1);
        return last ? { past: past.slice(0, -1), files: last, future: [files, ...future] } : { past, files, future };
      }),
    redo: () =>
      setHistory(({ past, files, future: [next, ...rest] }) =>
        next ? { past: [...past, files], files: next, future: rest } : { past, files, future: rest },
      ),
    /** Saves what is not saved yet; resolves with the revision. */
    async settle(): Promise<number> {
      await save(files);
      return revision.current;
    },
    /** Like `settle`, but also creates the draft if the service has none. */
    async keep(): Promise<number> {
      await save(files);
      if (draft.updatedAt === null && revision.current === draft.revision)
        revision.current = (await programApi.saveDraft(name, { files, revision: draft.revision })).revision;
      return revision.current;
    },
  };
}

export type EditedDraft = ReturnType<typeof useDraft>;

async function saveZip(name: string, files: ProgramFiles): Promise<void> {
  const { strToU8, zipSync } = await import('fflate');
  const entries = Object.entries(files).map(([path, text]) => [`${name}/${path}`, strToU8(text)]);
  download(`${name}.zip`, zipSync(Object.fromEntries(entries)), 'application/zip');
}

/** More than the service takes; a small ZIP file may unpack to more than a tab can hold. */
const maxZipBytes = 8 * 1024 * 1024;

/** The folder that holds `program.yaml` may have any name. */
export async function fromZip(bytes: Uint8Array<ArrayBuffer>): Promise<ProgramFiles> {
  const { strFromU8, unzipSync } = await import('fflate');
  let total = 0;
  const filter = ({ name, originalSize }: { name: string; originalSize: number }) => {
    total += originalSize;
    if (total > maxZipBytes) throw new Error('the files are too large for a program');
    return !name.endsWith('/');
  };
  const entries = Object.entries(unzipSync(bytes, { filter }));
  const main = entries.map(([path]) => path).find((path) => /(^|\/)program\.yaml$/.test(path)) ?? 'program.yaml';
  const root = main.slice(0, -'program.yaml'.length);
  return Object.fromEntries(
    entries
      .filter(([path]) => path.startsWith(root))
      .map(([path, content]) => [path.slice(root.length), strFromU8(content)]),
  );
}

/** What the service takes of one file. */
const maxBytes = 2_000_000;

type AddedFile = { path: string; text: string } | { refused: 'programs.fileTooLarge' | 'programs.fileUnknown' };

export async function readAddedFile(program: string, files: ProgramFiles, file: File): Promise<AddedFile> {
  if (file.size > maxBytes) return { refused: 'programs.fileTooLarge' };
  const [, stem = '', ending = ''] = /^(.+)\.(xml|xlsx|csv|json|geojson)$/i.exec(file.name) ?? [];
  if (ending === '') return { refused: 'programs.fileUnknown' };
  const bare = stem.replace(/[^\w.-]/g, '-').slice(0, 60);
  const isWorkbook = ending.toLowerCase() === 'xlsx';
  const name = `${bare}.${isWorkbook ? 'xml' : ending.toLowerCase()}`;
  const text = isWorkbook ? await programApi.convertForm(program, `${bare}.xlsx`, file) : await file.text();
  return { path: `${toFolder(files, name)}/${name}`, text };
}

function toFolder(files: ProgramFiles, name: string): 'forms' | 'data' {
  if (/\.(xml|geojson)$/.test(name)) return 'forms';
  const isNamed = Object.entries(files).some(([path, text]) => path.startsWith('forms/') && text.includes(`/${name}"`));
  return isNamed ? 'forms' : 'data';
}

/** A form that no state shows gets a state, to which the start leads. */
export function withFile(files: ProgramFiles, path: string, text: string): ProgramFiles {
  const added = { ...files, [path]: text };
  const model = readProgram(added);
  const [, stem] = /^forms\/(.+)\.xml$/.exec(path) ?? [];
  if (stem === undefined || [...model.states.values()].some(({ raw }) => raw.form === path)) return added;
  const name = toStateName(stem.replaceAll('-', ' '), new Set(model.states.keys()), 'form');
  const made = addState(added, model, { name, kind: 'form', file: 'program.yaml' });
  const state = readProgram(made).states.get(name);
  const whole = state ? setField(made, state, ['form'], path) : made;
  return model.start ? connectStates(whole, readProgram(whole), model.start, name) : whole;
}
