import { type ChangeEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import { fromZip, saveZip } from './folder-file.ts';
import { type ProgramFiles, programApi } from './program-api.ts';
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
      draft.change((files) => ({ ...files, [path]: text }));
      setOutcome({ isFault: false, text: t('try.recorded', { path }) });
    } catch (error) {
      setOutcome({ isFault: true, text: error instanceof Error ? error.message : String(error) });
    }
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

interface FileButtonProps {
  text: string;
  label: string;
  accept: string;
  onFile(file: File): Promise<void>;
}

function FileButton({ text, label, accept, onFile }: FileButtonProps) {
  function take({ target }: ChangeEvent<HTMLInputElement>): void {
    const file = target.files?.[0];
    target.value = '';
    if (file) void onFile(file);
  }
  return (
    <label className="button file-button">
      {text}
      <input type="file" accept={accept} aria-label={label} onChange={take} />
    </label>
  );
}

/** What the service takes of one file. */
const maxBytes = 2_000_000;

type AddedFile = { path: string; text: string } | { refused: 'programs.fileTooLarge' | 'programs.fileUnknown' };

/** Reads a file, and says where a program has files of its kind. XLSForms are converted by the service. */
async function readAddedFile(program: string, files: ProgramFiles, file: File): Promise<AddedFile> {
  if (file.size > maxBytes) return { refused: 'programs.fileTooLarge' };
  const [, stem = '', ending = ''] = /^(.+)\.(xml|xlsx|csv|json|geojson)$/i.exec(file.name) ?? [];
  if (ending === '') return { refused: 'programs.fileUnknown' };
  const bare = stem.replace(/[^\w.-]/g, '-').slice(0, 60);
  const isWorkbook = ending.toLowerCase() === 'xlsx';
  const name = `${bare}.${isWorkbook ? 'xml' : ending.toLowerCase()}`;
  const text = isWorkbook ? await programApi.convertForm(program, `${bare}.xlsx`, file) : await file.text();
  return { path: `${toFolder(files, name)}/${name}`, text };
}

/** Tables are data of the program unless a form names them. */
function toFolder(files: ProgramFiles, name: string): 'forms' | 'data' {
  if (/\.(xml|geojson)$/.test(name)) return 'forms';
  const isNamed = Object.entries(files).some(([path, text]) => path.startsWith('forms/') && text.includes(`/${name}"`));
  return isNamed ? 'forms' : 'data';
}
