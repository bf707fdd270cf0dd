import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import { addState, type ChangeFiles, type NewKind, newKinds } from './edit-program.ts';
import { namePattern } from './editor-fields.tsx';
import { titleOf } from './kinds.ts';
import { type ActionKeyword, actionKeywords } from './new-action.ts';
import type { ProgramModel } from './read-program.ts';

interface AddStateProps {
  model: ProgramModel;
  onChange: ChangeFiles;
  onSelect(state: string): void;
}

export function AddState({ model, onChange, onSelect }: AddStateProps) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<NewKind>('page');
  const [keyword, setKeyword] = useState<ActionKeyword>('sms');
  const isTaken = model.states.has(name);
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (isTaken) return;
    if (!onChange(() => addState(model.files, model, { name, kind, keyword, file: 'program.yaml' }))) return;
    onSelect(name);
    setName('');
  }
  return (
    <form className="add-state" onSubmit={submit}>
      <label className="field">
        <span>{t(isTaken ? 'programs.taken' : 'programs.newState')}</span>
        <input required value={name} pattern={namePattern} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        <span>{t('programs.kind')}</span>
        <select value={kind} onChange={(event) => setKind(event.target.value as NewKind)}>
          {newKinds.map((each) => (
            <option key={each} value={each}>
              {titleOf(each)}
            </option>
          ))}
        </select>
      </label>
      {kind === 'action' && (
        <label className="field action-field">
          <span>{t('programs.whatItDoes')}</span>
          <select value={keyword} onChange={(event) => setKeyword(event.target.value as ActionKeyword)}>
            {actionKeywords.map((each) => (
              <option key={each} value={each}>
                {t(`programs.does-${each}`)}
              </option>
            ))}
          </select>
        </label>
      )}
      <button type="submit" className="button" disabled={isTaken}>
        <Icon name="plus" size={18} />
        {t('programs.add')}
      </button>
    </form>
  );
}
