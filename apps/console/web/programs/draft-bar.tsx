import { type ChangeEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import { fromZip, saveZip } from './folder-file.ts';
import type { EditedDraft } from './use-draft.ts';

/** Undo and redo, whether the draft is saved, and the way out of and into a folder. */
export function DraftBar({ name, draft }: { name: string; draft: EditedDraft }) {
  const { status } = draft;
  const [fault, setFault] = useState('');
  async function load(event: ChangeEvent<HTMLInputElement>): Promise<void> {
    const file = event.target.files?.[0];
    event.target.value = '';
    if (!file) return;
    const files = await fromZip(new Uint8Array(await file.arrayBuffer())).catch(() => ({}));
    const isProgram = 'program.yaml' in files;
    setFault(isProgram ? '' : t('programs.notZip'));
    if (isProgram) draft.change(files);
  }
  return (
    <div className="draft-bar">
      <button type="button" className="button" disabled={!draft.canUndo} onClick={draft.undo}>
        {t('programs.undo')}
      </button>
      <button type="button" className="button" disabled={!draft.canRedo} onClick={draft.redo}>
        {t('programs.redo')}
      </button>
      <button type="button" className="button" onClick={() => void saveZip(name, draft.files)}>
        <Icon name="save" size={18} />
        {t('programs.export')}
      </button>
      <label className="button file-button">
        {t('programs.import')}
        <input type="file" accept=".zip" aria-label={t('programs.importZip')} onChange={(event) => void load(event)} />
      </label>
      {fault && (
        <span className="small over" role="alert">
          {fault}
        </span>
      )}
      <span className={status.kind === 'failed' ? 'small over' : 'small quiet'} role="status">
        {status.kind === 'failed' ? status.message : t(status.kind === 'saved' ? 'programs.saved' : 'programs.saving')}
      </span>
    </div>
  );
}
