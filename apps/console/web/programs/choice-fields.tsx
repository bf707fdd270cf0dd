import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Refusal } from '../ui/content.tsx';
import { Button, FileButton, IconButton, SelectField } from '../ui/controls.tsx';
import { ConditionField } from './condition-field.tsx';
import { readAddedFile } from './draft.tsx';
import { dropListSource, setListSource } from './edit-flow.ts';
import { addOption, dropTexts, setField } from './edit-program.ts';
import { ChoiceField, namePattern, Removable, TargetField, TextField } from './editor-fields.tsx';
import { answersOf, dropAnswers, keepAnswers, renameAnswer, retypeAnswer } from './kept-answers.ts';
import { toStateName, toValue } from './names.ts';
import { useSelectedState } from './program-context.ts';
import { type ProgramModel, type ProgramState, type Raw, sayIn, toRecord } from './read-program.ts';
import { listColumns } from './tables.ts';
import { Texts } from './text-fields.tsx';

export function ChoiceFields() {
  const { model, files, state, change, set } = useSelectedState();
  const options = (Array.isArray(state.raw.options) ? state.raw.options : []).map(toRecord);
  const isQuestion = state.kind === 'prompt';
  const place = (next: Raw[]) =>
    change(() => dropTexts(setField(files, state, ['options'], next.length > 0 ? next : undefined), model));
  /** A value that was made from the words follows them. */
  const nameAfter = (i: number) => {
    const { value, text } = options[i] ?? {};
    const others = new Set(options.filter((_, at) => at !== i).map((option) => String(option.value)));
    if (isQuestion && /^choice\d*$/.test(String(value)))
      set(['options', i, 'value'], toValue(sayIn(model, text), others));
  };
  return (
    <>
      {options.length > 0 && (
        <ol className="options-editor">
          {options.map((option, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a choice is known by its place
            <li key={i}>
              <fieldset onBlur={({ target }) => target.matches('.texts-row input') && nameAfter(i)}>
                <legend>{t('programs.choice', { key: String(option.key ?? i + 1) })}</legend>
                {typeof option.text === 'string' && <Texts textKey={option.text} label="programs.textIn" />}
                {isQuestion ? (
                  <TextField
                    label={t('programs.keptAs')}
                    value={option.value}
                    expects={t('programs.expectsWord')}
                    pattern="\S{1,60}"
                    onChange={(value) => set(['options', i, 'value'], value)}
                  />
                ) : (
                  <TargetField
                    label={t('programs.leadsTo')}
                    value={option.to}
                    onChange={(to) => set(['options', i, 'to'], to)}
                  />
                )}
                <details open={option.when !== undefined}>
                  <summary>{t('programs.shownWhen')}</summary>
                  <ConditionField
                    label={t('programs.shownWhen')}
                    value={option.when}
                    onChange={(when) => set(['options', i, 'when'], when === '' ? undefined : when)}
                  />
                </details>
                <div className="actions">
                  <IconButton
                    icon="up"
                    label={t('programs.choiceUp', { key: i + 1 })}
                    disabled={i === 0}
                    onClick={() => place(swap(options, i, i - 1))}
                  />
                  <IconButton
                    icon="down"
                    label={t('programs.choiceDown', { key: i + 1 })}
                    disabled={i === options.length - 1}
                    onClick={() => place(swap(options, i, i + 1))}
                  />
                  <Button
                    text={t('programs.remove')}
                    small
                    icon="close"
                    aria-label={t('programs.removeChoice', { key: i + 1 })}
                    onClick={() => place(options.toSpliced(i, 1))}
                  />
                </div>
              </fieldset>
            </li>
          ))}
        </ol>
      )}
      <Button
        text={t('programs.addChoice')}
        small
        icon="plus"
        onClick={() =>
          change(() => addOption(files, model, state, isQuestion ? undefined : (model.start ?? state.name)))
        }
      />
    </>
  );
}

function swap(options: Raw[], one: number, other: number): Raw[] {
  const [a, b] = [options[one], options[other]];
  return a && b ? options.with(one, b).with(other, a) : options;
}

export function ListFields() {
  const { model, files, state, change, set } = useSelectedState();
  const [refused, setRefused] = useState('');
  const from = state.raw.from === undefined ? undefined : toRecord(state.raw.from);
  const sources = listSources(model);
  const chosen = from ? String(from.csv ?? from.json ?? from.list ?? '') : '';
  const choose = (key: string) => {
    const source = sources.get(key);
    change(() => (source ? setListSource(files, state, toFrom(state, source)) : dropListSource(files, state)));
  };
  const source = sources.get(chosen);
  const columns = source?.columns ?? [];
  const save = Object.entries(toRecord(from?.save));
  const setSave = (entries: [string, unknown][]) =>
    setField(files, state, ['from', 'save'], Object.fromEntries(entries));
  return (
    <>
      <div className="field-row">
        <SelectField
          label={t('programs.choicesFrom')}
          value={chosen}
          onChange={choose}
          options={[...sources.keys(), ...(chosen !== '' && !source ? [chosen] : [])]}
        >
          <option value="">{t('programs.writtenHere')}</option>
        </SelectField>
        <FileButton
          text={t('programs.uploadTable')}
          label={t('programs.uploadTable')}
          accept=".csv,.json"
          onFile={async (file) => {
            const added = await readAddedFile(model.name, files, file);
            setRefused('refused' in added ? t(added.refused, { name: file.name }) : '');
            if ('refused' in added) return;
            const { path, text } = added;
            change(() => setListSource({ ...files, [path]: text }, state, toFrom(state, readTable(path, text))));
          }}
        />
      </div>
      <Refusal small text={refused} />
      {from && (
        <fieldset className="logic-map">
          <legend>{chosen}</legend>
          <ChoiceField
            label={t('programs.shownColumn')}
            value={from.text}
            choices={columns}
            onChange={(column) => set(['from', 'text'], column)}
          />
          {save.map(([name, column], i) => (
            <Removable
              key={name}
              name={name}
              onRemove={() => change(() => dropAnswers(setSave(save.toSpliced(i, 1)), state, [name]))}
            >
              <ChoiceField
                label={t('programs.column')}
                value={column}
                choices={columns}
                onChange={(next) => change(() => retypeAnswer(setSave(save.with(i, [name, next])), state.name, name))}
              />
              <TextField
                label={t('programs.savedAs')}
                value={name}
                pattern={namePattern}
                expects={t('programs.expectsName')}
                onChange={(next) => next && change(() => renameAnswer(files, state, [name, next]))}
              />
            </Removable>
          ))}
          <Button
            text={t('programs.keepColumn')}
            small
            icon="plus"
            onClick={() => {
              const column = columns.find((each) => !save.some(([, kept]) => kept === each)) ?? columns[0] ?? 'id';
              const name = toStateName(column, new Set(save.map(([each]) => each)));
              change(() => keepAnswers(setSave([...save, [name, column]]), state.name));
            }}
          />
          <TextField
            label={t('programs.rowsWhere')}
            value={from.where}
            onChange={(where) => set(['from', 'where'], where === '' ? undefined : where)}
          />
        </fieldset>
      )}
    </>
  );
}

interface Source {
  kind: 'csv' | 'json' | 'list';
  key: string;
  columns: string[];
}

/** The first column often is a number that says nothing to callers. A row of a table answers the question. */
function toFrom(state: ProgramState, { kind, key, columns }: Source) {
  const [first = 'id'] = columns;
  if (kind === 'list') return { [kind]: key, text: first, save: { [toStateName(first, new Set())]: first } };
  const text = columns.find((column) => !/^(id|code|key|no|nr|number)$/i.test(column)) ?? first;
  return { [kind]: key, text, save: { [answersOf(state)[0] ?? state.name]: text } };
}

function listSources({ files, states, records }: ProgramModel): Map<string, Source> {
  const tables = Object.entries(files)
    .filter(([path]) => /^data\/.+\.(csv|json)$/.test(path))
    .map(([path, text]) => readTable(path, text));
  const lists = [...states.values()]
    .filter(({ raw }) => typeof raw.find === 'string' && typeof raw.save === 'string')
    .map(({ raw }): Source => {
      const fields = Object.keys(records[String(raw.find)] ?? {});
      return { kind: 'list', key: String(raw.save), columns: [...fields, 'createdAt'] };
    });
  return new Map([...tables, ...lists].map((source) => [source.key, source]));
}

function readTable(path: string, text: string): Source {
  return { kind: path.endsWith('.csv') ? 'csv' : 'json', key: path, columns: listColumns(path, text) };
}
