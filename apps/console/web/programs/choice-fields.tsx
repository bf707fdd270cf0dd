import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Refusal } from '../ui/fault.tsx';
import { FileButton, SelectField } from '../ui/fields.tsx';
import { ConditionField } from './condition-field.tsx';
import { readAddedFile } from './draft.tsx';
import { setListSource } from './edit-flow.ts';
import { addOption, dropTexts, setField } from './edit-program.ts';
import { ChoiceField, Removable, type StateParts, TargetField, TextField } from './editor-fields.tsx';
import { toStateName, toValue } from './names.ts';
import { type ProgramModel, type Raw, sayIn, toRecord } from './read-program.ts';
import { Texts } from './text-fields.tsx';

export function ChoiceFields({ model, state, onChange, set }: StateParts) {
  const options = (Array.isArray(state.raw.options) ? state.raw.options : []).map(toRecord);
  const { files } = model;
  const isQuestion = state.kind === 'prompt';
  const place = (next: Raw[]) =>
    onChange(() => dropTexts(setField(files, state, ['options'], next.length > 0 ? next : undefined), model));
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
                {typeof option.text === 'string' && (
                  <Texts model={model} onChange={onChange} textKey={option.text} label="programs.textIn" />
                )}
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
                    model={model}
                    label={t('programs.leadsTo')}
                    value={option.to}
                    onChange={(to) => set(['options', i, 'to'], to)}
                  />
                )}
                <details open={option.when !== undefined}>
                  <summary>{t('programs.shownWhen')}</summary>
                  <ConditionField
                    model={model}
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
                    small
                    icon="close"
                    aria-label={t('programs.removeChoice', { key: i + 1 })}
                    onClick={() => place(options.toSpliced(i, 1))}
                  >
                    {t('programs.remove')}
                  </Button>
                </div>
              </fieldset>
            </li>
          ))}
        </ol>
      )}
      <Button
        small
        icon="plus"
        onClick={() =>
          onChange(() => addOption(files, model, state, isQuestion ? undefined : (model.start ?? state.name)))
        }
      >
        {t('programs.addChoice')}
      </Button>
    </>
  );
}

function swap(options: Raw[], one: number, other: number): Raw[] {
  const [a, b] = [options[one], options[other]];
  return a && b ? options.with(one, b).with(other, a) : options;
}

export function ListFields({ model, state, onChange, set }: StateParts) {
  const [refused, setRefused] = useState('');
  const from = state.raw.from === undefined ? undefined : toRecord(state.raw.from);
  const sources = listSources(model);
  const chosen = from ? String(from.csv ?? from.json ?? from.list ?? '') : '';
  const choose = (key: string) => {
    const source = sources.get(key);
    onChange(() => setListSource(model.files, state, source && toFrom(source)));
  };
  const source = sources.get(chosen);
  const columns = source?.columns ?? [];
  const save = Object.entries(toRecord(from?.save));
  const setSave = (entries: [string, unknown][]) => set(['from', 'save'], Object.fromEntries(entries));
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
            const added = await readAddedFile(model.name, model.files, file);
            setRefused('refused' in added ? t(added.refused, { name: file.name }) : '');
            if ('refused' in added) return;
            const { path, text } = added;
            onChange(() => setListSource({ ...model.files, [path]: text }, state, toFrom(readTable(path, text))));
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
            <Removable key={name} name={name} onRemove={() => setSave(save.toSpliced(i, 1))}>
              <ChoiceField
                label={t('programs.column')}
                value={column}
                choices={columns}
                onChange={(next) => set(['from', 'save', name], next)}
              />
              <TextField
                label={t('programs.savedAs')}
                value={name}
                onChange={(next) => next && setSave(save.with(i, [next, column]))}
              />
            </Removable>
          ))}
          <Button
            small
            icon="plus"
            onClick={() => {
              const column = columns.find((each) => !save.some(([, kept]) => kept === each)) ?? columns[0] ?? 'id';
              setSave([...save, [toStateName(column, new Set(save.map(([name]) => name))), column]]);
            }}
          >
            {t('programs.keepColumn')}
          </Button>
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

function toFrom({ kind, key, columns: [first = 'id'] }: Source) {
  return { [kind]: key, text: first, save: { [toStateName(first, new Set())]: first } };
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

/** Leaves out columns for other languages, such as `name::fr`. */
function readTable(path: string, text: string): Source {
  const kind = path.endsWith('.csv') ? 'csv' : 'json';
  const names = kind === 'csv' ? csvHead(text) : jsonHead(text);
  return { kind, key: path, columns: names.filter((name) => !name.includes('::')) };
}

function csvHead(text: string): string[] {
  const [head = ''] = text.replace(/^\uFEFF/, '').split(/\r?\n/, 1);
  return Array.from(head.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g), ([, quoted, plain = '']) =>
    (quoted?.replaceAll('""', '"') ?? plain).trim(),
  ).filter(Boolean);
}

function jsonHead(text: string): string[] {
  try {
    const rows: unknown = JSON.parse(text);
    return Object.keys(toRecord(Array.isArray(rows) ? rows[0] : undefined));
  } catch {
    return [];
  }
}
