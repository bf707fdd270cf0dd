import { t } from '../i18n/text.ts';
import { Button, CheckField, SelectField } from '../ui/controls.tsx';
import { ChoiceFields, ListFields } from './choice-fields.tsx';
import { ConditionField } from './condition-field.tsx';
import { duplicateState, moveToFile, removeState, setAnswerType } from './edit-flow.ts';
import { addText, dropTexts, renameState, setField, toFreeKey } from './edit-program.ts';
import { ConnectField, namePattern, Removable, TargetField, TextField } from './editor-fields.tsx';
import { renameAnswer } from './kept-answers.ts';
import { LogicFields } from './logic-fields.tsx';
import { answerTypes } from './names.ts';
import { useProgram, useSelectedState } from './program-context.ts';
import { toRecord } from './read-program.ts';
import { Texts } from './text-fields.tsx';

export function StateEditor() {
  const { select } = useProgram();
  const { model, files, state, change, set } = useSelectedState();
  const { kind, raw } = state;
  const { text: message } = toRecord(raw.sms);
  const rename = (name: string) => {
    if (change(() => renameState(files, state.name, name))) select(name);
  };
  const duplicate = () => {
    const copy = duplicateState(files, state.name);
    if (change(() => copy.files)) select(copy.name);
  };
  const remove = () => {
    if (change(() => removeState(files, state))) select('');
  };
  const isList = raw.from !== undefined;
  // A list has no check of its own, and cannot be passed over.
  const isPlain = raw.check === undefined && raw.optional === undefined;
  const isChoice = raw.type === 'choice' || raw.type === 'choices';
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
      {typeof raw.text === 'string' && <Texts textKey={raw.text} screenOf={state} label="programs.textIn" />}
      {typeof message === 'string' && <Texts textKey={message} label="programs.messageIn" />}
      {kind === 'prompt' && <QuestionFields />}
      {(kind === 'menu' || (raw.type === 'choice' && isPlain)) && <ListFields />}
      {(isChoice || ((kind === 'menu' || kind === 'page') && !isList)) && <ChoiceFields />}
      <Ways />
      {Array.isArray(raw.when) && <Conditions />}
      <LogicFields />
      {['menu', 'prompt', 'page', 'action', 'form'].includes(kind) && (
        <CheckField
          label={t('programs.membersOnly')}
          checked={raw.requires === 'authenticated'}
          onChange={(isChecked) => set(['requires'], isChecked ? 'authenticated' : undefined)}
        />
      )}
      <ConnectField key={`${state.name} connect`} />
      <GroupField key={`${state.name} group`} />
      <div className="actions">
        <Button text={t('programs.duplicate')} small icon="copy" onClick={duplicate} />
        <Button
          text={t('programs.delete', { name: state.name })}
          small
          danger
          icon="trash"
          disabled={state.name === model.start}
          onClick={remove}
        />
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

function QuestionFields() {
  const { files, state, change, set } = useSelectedState();
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
            onChange={(value) => change(() => setAnswerType(files, state, value))}
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
          onChange={(value) => value && change(() => renameAnswer(files, state, [String(raw.save), value]))}
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
          label={t('programs.askedWhen')}
          value={raw.when}
          onChange={(value) => set(['when'], value === '' ? undefined : value)}
        />
      </details>
      {raw.validator === undefined && <AnswerCheck type={type} />}
    </>
  );
}

function AnswerCheck({ type }: { type: string }) {
  const { model, files, state, change } = useSelectedState();
  const { that, hint } = toRecord(state.raw.check);
  const check = (expression: string) =>
    change(() => {
      if (expression === '') return dropTexts(setField(files, state, ['check'], undefined), model);
      if (typeof hint === 'string') return setField(files, state, ['check', 'that'], expression);
      const key = toFreeKey(model, `${state.name}.hint`);
      const withText = addText(files, model, key, t('programs.newHint'));
      return setField(withText, state, ['check'], { that: expression, hint: key });
    });
  const own = [{ name: 'answer', label: t('programs.thisAnswer'), type, choices: [] }];
  return (
    <details open={that !== undefined}>
      <summary>{t('programs.mustAlso')}</summary>
      <ConditionField label={t('programs.mustAlso')} value={that} own={own} onChange={check} />
      {typeof hint === 'string' && <Texts textKey={hint} label="programs.hintIn" />}
    </details>
  );
}

function GroupField() {
  const { files, state, change } = useSelectedState();
  const groups = Object.keys(files).filter((path) => /^[^/]+\.yaml$/.test(path));
  const nameOf = (path: string) => path.replace(/\.yaml$/, '');
  return (
    <TextField
      label={t('programs.group')}
      value={nameOf(state.file)}
      pattern="[a-z][a-z0-9\-]*"
      expects={t('programs.expectsGroup', { groups: groups.map(nameOf).join(', ') })}
      onChange={(group) => group && change(() => moveToFile(files, state, `${group}.yaml`))}
    />
  );
}

function Ways() {
  const { model, files, state, change, set } = useSelectedState();
  return state.links
    .filter(({ path }) => path[0] !== 'options')
    .map(({ to, label, path }) => {
      const field = (
        <TargetField
          key={path.join('.')}
          label={path[0] === 'to' ? t('programs.leadsTo') : t('programs.wayLeadsTo', { label })}
          value={to}
          onChange={(next) => set(path, next)}
        />
      );
      if (path[0] !== 'outcomes') return field;
      const { hint } = toRecord(toRecord(state.raw.outcomes)[label]);
      const say = () =>
        change(() => {
          const key = toFreeKey(model, `${state.name}.${label}`);
          const withText = addText(files, model, key, t('programs.newHint'));
          return setField(withText, state, ['outcomes', label], { to, hint: key });
        });
      const sayNothing = () => change(() => dropTexts(setField(files, state, ['outcomes', label], to), model));
      return (
        <div key={path.join('.')}>
          <Removable name={label} onRemove={() => set(['outcomes', label], undefined)}>
            {field}
          </Removable>
          {typeof hint === 'string' && <Texts textKey={hint} label="programs.hintIn" />}
          <Button small onClick={hint === undefined ? say : sayNothing}>
            {t(hint === undefined ? 'programs.sayFirst' : 'programs.sayNothing', { label })}
          </Button>
        </div>
      );
    });
}

function Conditions() {
  const { state, set } = useSelectedState();
  const conditions = (state.raw.when as unknown[]).map(toRecord);
  return conditions.map(({ that, outcome }, i) => {
    const label = t('programs.condition', { number: i + 1 });
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: a condition is known by its place
      <Removable key={i} name={label} onRemove={() => set(['when'], conditions.toSpliced(i, 1))}>
        <ConditionField label={label} value={that} onChange={(value) => value && set(['when', i, 'that'], value)} />
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
