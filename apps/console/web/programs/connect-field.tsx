import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { type ChangeFiles, connectStates } from './edit-program.ts';
import { TargetField } from './editor-fields.tsx';
import type { ProgramModel, ProgramState } from './read-program.ts';

interface ConnectFieldProps {
  model: ProgramModel;
  state: ProgramState;
  onChange: ChangeFiles;
}

/** Does what a line drawn on the map does, without a pointer. */
export function ConnectField({ model, state, onChange }: ConnectFieldProps) {
  const [to, setTo] = useState(model.start ?? state.name);
  if (state.kind === 'end' || state.kind === 'return') return null;
  function submit(event: FormEvent): void {
    event.preventDefault();
    onChange(() => connectStates(model.files, model, state.name, to));
  }
  return (
    <form className="try-answer" onSubmit={submit}>
      <TargetField model={model} label={t('programs.connectTo')} value={to} onChange={setTo} />
      <Button type="submit" small>
        {t('programs.connect')}
      </Button>
    </form>
  );
}
