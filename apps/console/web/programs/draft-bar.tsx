import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { FileButton } from '../ui/file-button.tsx';
import { readAddedFile, withFile } from './add-file.ts';
import { fromZip, saveZip } from './folder-file.ts';
import type { EditedDraft } from './use-draft.ts';

/** Undo and redo, whether the draft is saved, and the way out of and into a folder. */
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
      <Button disabled={!draft.canUndo} onClick={draft.undo}>
        {t('programs.undo')}
      </Button>
      <Button disabled={!draft.canRedo} onClick={draft.redo}>
        {t('programs.redo')}
      </Button>
      <Button icon="save" onClick={() => void saveZip(name, draft.files)}>
        {t('programs.export')}
      </Button>
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
