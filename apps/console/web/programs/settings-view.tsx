import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { languageName, t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { Fault, Panel } from '../ui/content.tsx';
import { Button, Form, IconButton, InputField, Modal } from '../ui/controls.tsx';
import type { EditedDraft } from './draft.tsx';
import { addLanguage, removeLanguage, removeRecord, setHeader, setIdentity, setRecords } from './edit-program.ts';
import { AddName, ChoiceField, Removable, TextField } from './editor-fields.tsx';
import { codePattern, toProgramName, toTitle } from './names.ts';
import { type ListedProgram, programApi } from './program-api.ts';
import { useProgram } from './program-context.ts';

const fieldTypes = ['text', 'integer', 'decimal', 'date', 'phone'];

const lists = [
  { name: 'codes', label: 'programs.newCode', pattern: codePattern, expects: 'programs.expectsCode' },
  {
    name: 'keywords',
    label: 'programs.newKeyword',
    pattern: String.raw`[\p{L}\d]{2,20}`,
    expects: 'programs.expectsKeyword',
  },
  {
    name: 'languages',
    label: 'programs.newLanguageCode',
    pattern: '[a-z]{2,3}(-[A-Za-z0-9]{2,8})*',
    expects: 'programs.expectsLanguage',
  },
  { name: 'secrets', label: 'programs.newSecret', pattern: '[A-Z][A-Z0-9_]*', expects: 'programs.expectsSecret' },
] as const;

export function SettingsView({ children }: { children: ReactNode }) {
  const { model, change } = useProgram();
  const { files, title, languages } = model;
  const set = (field: string, value: unknown) => change(() => setHeader(files, field, value));
  const setLanguages = (next: string[]) => {
    const gone = languages.find((language) => !next.includes(language));
    const added = next.at(-1) ?? '';
    change(() => (gone === undefined ? addLanguage(files, model, added) : removeLanguage(files, model, gone)));
  };
  return (
    <div className="stack settings">
      <Panel title={t('programs.settings')}>
        <div className="stack">
          <TextField label={t('programs.title')} value={title} onChange={(value) => set('title', value || undefined)} />
          {lists.map(({ name, label, ...rest }) => (
            <Entries
              key={name}
              title={t(`programs.${name}`)}
              entries={model[name]}
              label={t(label)}
              expects={t(rest.expects)}
              pattern={rest.pattern}
              isLanguage={name === 'languages'}
              onChange={(next) => (name === 'languages' ? setLanguages(next) : set(name, next))}
            />
          ))}
        </div>
      </Panel>
      <Records />
      {children}
    </div>
  );
}

interface EntriesProps {
  title: string;
  entries: readonly string[];
  /** The last one stays, and they are shown by their names. */
  isLanguage: boolean;
  label: string;
  pattern: string;
  expects: string;
  onChange(entries: string[]): void;
}

function Entries({ title, entries, isLanguage, onChange, ...field }: EntriesProps) {
  return (
    <fieldset className="logic-map">
      <legend>{title}</legend>
      <ul className="entries">
        {entries.map((entry) => (
          <li key={entry} className="badge">
            <bdi>{isLanguage ? languageName(entry) : entry}</bdi>
            {(entries.length > 1 || !isLanguage) && (
              <IconButton
                icon="close"
                size={16}
                label={t('programs.removeEntry', { name: entry })}
                onClick={() => onChange(entries.filter((each) => each !== entry))}
              />
            )}
          </li>
        ))}
      </ul>
      <AddName {...field} taken={entries} onAdd={(name) => onChange([...entries, name])} />
    </fieldset>
  );
}

function Records() {
  const { model, change } = useProgram();
  const { files, records } = model;
  return (
    <Panel title={t('programs.records')}>
      <div className="stack">
        {Object.entries(records).map(([kind, fields]) => (
          <fieldset key={kind} className="logic-map">
            <legend>{kind}</legend>
            {Object.entries(fields).map(([field, type]) => (
              <Removable key={field} name={field} onRemove={() => change(() => removeRecord(files, [kind, field]))}>
                <ChoiceField
                  label={field}
                  value={type}
                  choices={fieldTypes}
                  onChange={(next) => change(() => setRecords(files, [kind, field], next))}
                />
              </Removable>
            ))}
            <AddName
              label={t('programs.newEntry', { name: kind })}
              taken={Object.keys(fields)}
              onAdd={(field) => change(() => setRecords(files, [kind, field], 'text'))}
            />
            <Button small icon="trash" onClick={() => change(() => removeRecord(files, [kind]))}>
              {t('programs.removeEntry', { name: kind })}
            </Button>
          </fieldset>
        ))}
        <AddName
          label={t('programs.newRecord')}
          taken={Object.keys(records)}
          onAdd={(kind) => change(() => setRecords(files, [kind], {}))}
        />
      </div>
    </Panel>
  );
}

interface ProgramActionsProps {
  name: string;
  draft: EditedDraft;
  programs: readonly ListedProgram[];
  role: string | undefined;
}

type Asked = 'duplicate' | 'discard' | 'withdraw' | 'remove';

export function ProgramActions({ name, draft, programs, role }: ProgramActionsProps) {
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Asked>();
  const [title, setTitle] = useState('');
  const listed = programs.find((program) => program.name === name);
  const isPublished = listed?.isPublished === true;
  const mayWithdraw = role === 'admin' || role === undefined;
  const offered: Asked[] = [
    'duplicate',
    ...(listed?.version && listed.draft ? (['discard'] as const) : []),
    ...(isPublished && mayWithdraw ? (['withdraw'] as const) : []),
    // A program that comes with the service would be back at its next start.
    ...((isPublished && mayWithdraw) || (listed && !listed.version) ? (['remove'] as const) : []),
  ];
  const act = useMutation({
    mutationFn: async (what: Asked) => {
      if (what === 'duplicate') {
        const copy = toProgramName(title, new Set(programs.map((program) => program.name)));
        // Service codes and keywords belong to one program alone.
        const files = setIdentity(draft.files, { name: copy, title, codes: [] });
        await programApi.saveDraft(copy, { files, revision: 0 });
        navigate(`/programs?program=${copy}`);
      } else {
        // What callers had stays as a draft, unless that is removed too.
        const kept = what === 'discard' ? await draft.settle() : await draft.keep();
        if (what !== 'discard' && isPublished) await programApi.withdraw(name);
        if (what !== 'withdraw') await programApi.removeDraft(name, kept);
        navigate(what === 'remove' ? '/programs' : `/programs?program=${name}&view=publish`);
        for (const key of ['program-draft', 'program-versions', 'program-in-use'])
          void queries.invalidateQueries({ queryKey: [key] });
      }
      await queries.invalidateQueries({ queryKey: ['programs'] });
      setAsked(undefined);
    },
  });
  return (
    <Panel title={t('programs.whole')}>
      <div className="actions">
        {offered.map((each) => (
          <Button key={each} danger={each === 'remove'} onClick={() => setAsked(each)}>
            {t(`programs.whole-${each}`)}
          </Button>
        ))}
      </div>
      {asked && (
        <Modal title={t(`programs.whole-${asked}`)} onClose={() => setAsked(undefined)}>
          <Form className="stack" onSubmit={() => act.mutate(asked)}>
            <p>{t(`programs.whole-note-${asked}`, { name: listed?.title ?? toTitle(name) })}</p>
            {asked === 'duplicate' && (
              <InputField label={t('programs.newName')} required value={title} onChange={setTitle} />
            )}
            {act.error && <Fault error={act.error} />}
            <div className="actions">
              <Button text={t(`programs.whole-${asked}`)} type="submit" main danger={asked === 'remove'} />
              <Button onClick={() => setAsked(undefined)}>{t('app.cancel')}</Button>
            </div>
          </Form>
        </Modal>
      )}
    </Panel>
  );
}
