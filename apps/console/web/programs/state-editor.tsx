import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { CheckField, SelectField } from '../ui/fields.tsx';
import { ChoiceFields, ListFields } from './choice-fields.tsx';
import { ConditionField } from './condition-field.tsx';
import { duplicateState, moveToFile, removeState, setAnswerType } from './edit-flow.ts';
import { addText, dropTexts, renameState, setField, toFreeKey } from './edit-program.ts';
import { ConnectField, namePattern, Removable, type StateParts, TargetField, TextField } from './editor-fields.tsx';
import { renameAnswer } from './kept-answers.ts';
import { LogicFields } from './logic-fields.tsx';
import { answerTypes } from './names.ts';
import { toRecord } from './read-program.ts';
import { Texts } from './text-fields.tsx';

export function StateEditor({ onSelect, ...given }: Omit<StateParts, 'set'> & { onSelect(state: string): void }) {
  const { model, state, onChange } = given;
  const { files } = model;
  const { text: message } = toRecord(state.raw.sms);
  const parts: StateParts = { ...given, set: (path, value) => onChange(() => setField(files, state, path, value)) };
  const { set } = parts;
  const rename = (name: string) => {
    if (onChange(() => renameState(files, state.name, name))) onSelect(name);
  };
  const duplicate = () => {
    const copy = duplicateState(files, state.name);
    if (onChange(() => copy.files)) onSelect(copy.name);
  };
  const isList = state.raw.from !== undefined;
  // A list has no check of its own, and cannot be passed over.
  const isPlain = state.raw.check === undefined && state.raw.optional === undefined;
  const isChoice = state.raw.type === 'choice' || state.raw.type === 'choices';
  return (
    <div className="state-editor">
      <TextField
        key={state.name}
        label={t('programs.name')}
        value={state.name}
        pattern={namePattern}
        expects={t('programs.expectsName')}
        onChange={(name) => name && rename(name)}
      />
      {typeof state.raw.text === 'string' && (
        <Texts model={model} onChange={onChange} textKey={state.raw.text} screenOf={state} label="programs.textIn" />
      )}
      {typeof message === 'string' && (
        <Texts model={model} onChange={onChange} textKey={message} label="programs.messageIn" />
      )}
      {state.kind === 'prompt' && <QuestionFields {...parts} />}
      {(state.kind === 'menu' || (state.raw.type === 'choice' && isPlain)) && <ListFields {...parts} />}
      {(isChoice || ((state.kind === 'menu' || state.kind === 'page') && !isList)) && <ChoiceFields {...parts} />}
      <Ways {...parts} />
      {Array.isArray(state.raw.when) && <Conditions {...parts} />}
      <LogicFields {...parts} />
      {['menu', 'prompt', 'page', 'action', 'form'].includes(state.kind) && (
        <CheckField
          label={t('programs.membersOnly')}
          checked={state.raw.requires === 'authenticated'}
          onChange={(isChecked) => set(['requires'], isChecked ? 'authenticated' : undefined)}
        />
      )}
      <ConnectField key={`${state.name} connect`} {...parts} />
      <GroupField key={`${state.name} group`} {...parts} />
      <div className="actions">
        <Button small icon="copy" onClick={duplicate}>
          {t('programs.duplicate')}
        </Button>
        <Button
          small
          danger
          icon="trash"
          disabled={state.name === model.start}
          onClick={() => {
            if (onChange(() => removeState(files, state))) onSelect('');
          }}
        >
          {t('programs.delete', { name: state.name })}
        </Button>
      </div>
    </div>
  );
}

const isKnownType = (type: string): type is (typeof answerTypes)[number] => answerTypes.some((each) => each === type);

/** Numbers stay numbers in the file; `today` and dates are texts. */
function toLimit(value: string): number | string | undefined {
  if (value === '') return undefined;
  return Number.isNaN(Number(value)) ? value : Number(value);
}

const dateLimit = { pattern: String.raw`today|\d{4}-\d{2}-\d{2}`, expects: 'programs.expectsDate' } as const;
const numberLimit = { pattern: String.raw`-?\d+(\.\d+)?`, expects: 'programs.expectsNumber' } as const;

function QuestionFields({ model, state, set, onChange }: StateParts) {
  const { raw } = state;
  const type = String(raw.type ?? 'text');
  const isLimited = ['integer', 'decimal', 'date', 'choices'].includes(type);
  const { pattern, expects } = type === 'date' ? dateLimit : numberLimit;
  const limit = { pattern, expects: t(expects) };
  const setLimit = (field: 'min' | 'max') => (value: string) => set([field], toLimit(value));
  return (
    <>
      <div className="field-row">
        {raw.validator === undefined && (
          <SelectField
            label={t('programs.answerType')}
            value={type}
            onChange={(value) => onChange(() => setAnswerType(model.files, state, value))}
            options={[...new Set([...answerTypes, type])].map((each) => [
              each,
              isKnownType(each) ? t(`programs.type-${each}`) : each,
            ])}
          />
        )}
        {raw.validator === undefined && isLimited && (
          <>
            <TextField label={t('programs.atLeast')} value={raw.min} {...limit} onChange={setLimit('min')} />
            <TextField label={t('programs.atMost')} value={raw.max} {...limit} onChange={setLimit('max')} />
          </>
        )}
        <TextField
          label={t('programs.savedAs')}
          value={raw.save}
          pattern={namePattern}
          expects={t('programs.expectsName')}
          onChange={(value) => value && onChange(() => renameAnswer(model.files, state, [String(raw.save), value]))}
        />
        <CheckField
          label={t('programs.maySkip')}
          checked={raw.optional === true}
          onChange={(isChecked) => set(['optional'], isChecked || undefined)}
        />
      </div>
      <details open={raw.when !== undefined}>
        <summary>{t('programs.askedWhen')}</summary>
        <ConditionField
          model={model}
          label={t('programs.askedWhen')}
          value={raw.when}
          onChange={(value) => set(['when'], value === '' ? undefined : value)}
        />
      </details>
      {raw.validator === undefined && <AnswerCheck model={model} state={state} type={type} onChange={onChange} />}
    </>
  );
}

function AnswerCheck({ model, state, type, onChange }: Omit<StateParts, 'set'> & { type: string }) {
  const { that, hint } = toRecord(state.raw.check);
  function change(expression: string): void {
    onChange(() => {
      if (expression === '') return dropTexts(setField(model.files, state, ['check'], undefined), model);
      if (typeof hint === 'string') return setField(model.files, state, ['check', 'that'], expression);
      const key = toFreeKey(model, `${state.name}.hint`);
      const withText = addText(model.files, model, key, t('programs.newHint'));
      return setField(withText, state, ['check'], { that: expression, hint: key });
    });
  }
  const own = [{ name: 'answer', label: t('programs.thisAnswer'), type, choices: [] }];
  return (
    <details open={that !== undefined}>
      <summary>{t('programs.mustAlso')}</summary>
      <ConditionField model={model} label={t('programs.mustAlso')} value={that} own={own} onChange={change} />
      {typeof hint === 'string' && <Texts model={model} onChange={onChange} textKey={hint} label="programs.hintIn" />}
    </details>
  );
}

function GroupField({ model, state, onChange }: StateParts) {
  const groups = Object.keys(model.files).filter((path) => /^[^/]+\.yaml$/.test(path));
  const nameOf = (path: string) => path.replace(/\.yaml$/, '');
  return (
    <TextField
      label={t('programs.group')}
      value={nameOf(state.file)}
      pattern="[a-z][a-z0-9\-]*"
      expects={t('programs.expectsGroup', { groups: groups.map(nameOf).join(', ') })}
      onChange={(group) => group && onChange(() => moveToFile(model.files, state, `${group}.yaml`))}
    />
  );
}

function Ways({ model, state, set, onChange }: StateParts) {
  return state.links
    .filter(({ path }) => path[0] !== 'options')
    .map(({ to, label, path }) => {
      const field = (
        <TargetField
          key={path.join('.')}
          model={model}
          label={path[0] === 'to' ? t('programs.leadsTo') : t('programs.wayLeadsTo', { label })}
          value={to}
          onChange={(next) => set(path, next)}
        />
      );
      if (path[0] !== 'outcomes') return field;
      const { hint } = toRecord(toRecord(state.raw.outcomes)[label]);
      const say = () =>
        onChange(() => {
          const key = toFreeKey(model, `${state.name}.${label}`);
          const withText = addText(model.files, model, key, t('programs.newHint'));
          return setField(withText, state, ['outcomes', label], { to, hint: key });
        });
      const sayNothing = () => onChange(() => dropTexts(setField(model.files, state, ['outcomes', label], to), model));
      return (
        <div key={path.join('.')}>
          <Removable name={label} onRemove={() => set(['outcomes', label], undefined)}>
            {field}
          </Removable>
          {typeof hint === 'string' && (
            <Texts model={model} onChange={onChange} textKey={hint} label="programs.hintIn" />
          )}
          <Button small onClick={hint === undefined ? say : sayNothing}>
            {t(hint === undefined ? 'programs.sayFirst' : 'programs.sayNothing', { label })}
          </Button>
        </div>
      );
    });
}

function Conditions({ model, state, set }: StateParts) {
  const conditions = (state.raw.when as unknown[]).map(toRecord);
  return conditions.map(({ that, outcome }, i) => {
    const label = t('programs.condition', { number: i + 1 });
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: a condition is known by its place
      <Removable key={i} name={label} onRemove={() => set(['when'], conditions.toSpliced(i, 1))}>
        <ConditionField
          model={model}
          label={label}
          value={that}
          onChange={(value) => value && set(['when', i, 'that'], value)}
        />
        {outcome !== undefined && (
          <TextField
            label={t('programs.outcomeOf', { number: i + 1 })}
            value={outcome}
            onChange={(value) => set(['when', i, 'outcome'], value)}
          />
        )}
      </Removable>
    );
  });
}
