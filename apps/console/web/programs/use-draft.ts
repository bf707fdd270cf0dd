import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { type Draft, type ProgramFiles, programApi } from './program-api.ts';
import { FaultyFile } from './read-program.ts';

interface History {
  past: ProgramFiles[];
  files: ProgramFiles;
  future: ProgramFiles[];
}

export type SaveStatus = { kind: 'saved' | 'waiting' } | { kind: 'failed'; message: string };

const maxSteps = 200;
const saveAfterMs = 700;

/** The draft as it is edited: every change can be undone, and is saved a moment later. */
export function useDraft(name: string, draft: Draft) {
  const queries = useQueryClient();
  const [history, setHistory] = useState<History>({ past: [], files: draft.files, future: [] });
  const [status, setStatus] = useState<SaveStatus>({ kind: 'saved' });
  const [refused, setRefused] = useState('');
  const revision = useRef(draft.revision);
  const saved = useRef(draft.files);
  const saving = useRef(Promise.resolve());
  const { past, files, future } = history;
  // What the next change starts from, also before the page is drawn again.
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
    /** Why the last change was not made. */
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
    /** As `settle`, where the service has no draft yet, too. */
    async keep(): Promise<number> {
      await save(files);
      if (draft.updatedAt === null && revision.current === draft.revision)
        revision.current = (await programApi.saveDraft(name, { files, revision: draft.revision })).revision;
      return revision.current;
    },
  };
}

export type EditedDraft = ReturnType<typeof useDraft>;
