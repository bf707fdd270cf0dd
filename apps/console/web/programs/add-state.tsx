import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Form, InputField, SelectField } from '../ui/fields.tsx';
import { insertAfter } from './edit-flow.ts';
import { addState, type ChangeFiles } from './edit-program.ts';
import { type ActionKeyword, actionKeywords, newKinds, type StateKind } from './keywords.ts';
import { titleOf } from './kinds.ts';
import { toStateName } from './names.ts';
import type { ProgramModel } from './read-program.ts';

interface AddStateProps {
  model: ProgramModel;
  /** The state after which the new one comes. */
  selected: string | undefined;
  onChange: ChangeFiles;
  onSelect(state: string): void;
}

/** Adds a state by what it says: its name is made of that. */
export function AddState({ model, selected, onChange, onSelect }: AddStateProps) {
  const [text, setText] = useState('');
  const [kind, setKind] = useState<StateKind>('prompt');
  const [keyword, setKeyword] = useState<ActionKeyword>('store');
  const after = model.states.get(selected ?? '');
  const canFollow = after !== undefined && after.kind !== 'end' && after.kind !== 'return';
  function submit(): void {
    const name = toStateName(text.trim(), new Set([...model.states.keys(), ...model.outside]));
    const state = { name, kind, keyword, text: text.trim(), file: after?.file ?? 'program.yaml' };
    const add = () => (canFollow ? insertAfter(model.files, after.name, state) : addState(model.files, model, state));
    if (!onChange(add)) return;
    onSelect(name);
    setText('');
  }
  return (
    <Form className="add-state" onSubmit={submit}>
      <InputField
        label={canFollow ? t('programs.newStateAfter', { name: after.name }) : t('programs.newState')}
        required
        value={text}
        onChange={setText}
      />
      <SelectField
        label={t('programs.kind')}
        value={kind}
        onChange={setKind}
        options={newKinds.map((each) => [each, titleOf(each)])}
      />
      {kind === 'action' && (
        <SelectField
          label={t('programs.whatItDoes')}
          value={keyword}
          onChange={setKeyword}
          options={actionKeywords.map((each) => [each, t(`programs.does-${each}`)])}
        />
      )}
      <Button type="submit" icon="plus">
        {t('programs.add')}
      </Button>
    </Form>
  );
}
