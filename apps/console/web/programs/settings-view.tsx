import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { languageName } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { Form, InputField } from '../ui/fields.tsx';
import { Modal } from '../ui/modal.tsx';
import { Panel } from '../ui/panel.tsx';
import type { EditedDraft } from './draft.tsx';
import {
  addLanguage,
  type ChangeFiles,
  removeLanguage,
  removeRecord,
  setHeader,
  setIdentity,
  setRecords,
} from './edit-program.ts';
import { AddName, ChoiceField, Removable, TextField } from './editor-fields.tsx';
import { codePattern, toProgramName, toTitle } from './names.ts';
import { type ListedProgram, programApi } from './program-api.ts';
import type { ProgramModel } from './read-program.ts';

const fieldTypes = ['text', 'integer', 'decimal', 'date', 'phone'];

interface SettingsProps {
  model: ProgramModel;
  onChange: ChangeFiles;
}

export function SettingsView({ model, onChange, children }: SettingsProps & { children: ReactNode }) {
  const { files, title, codes, keywords, languages, secrets } = model;
  const set = (field: string, value: unknown) => onChange(() => setHeader(files, field, value));
  return (
    <div className="stack settings">
      <Panel title={t('programs.settings')}>
        <div className="stack">
          <TextField label={t('programs.title')} value={title} onChange={(value) => set('title', value || undefined)} />
          <Entries
            title={t('programs.codes')}
            entries={codes}
            label={t('programs.newCode')}
            pattern={codePattern}
            expects={t('programs.expectsCode')}
            onChange={(next) => set('codes', next)}
          />
          <Entries
            title={t('programs.keywords')}
            entries={keywords}
            label={t('programs.newKeyword')}
            pattern="[\p{L}\d]{2,20}"
            expects={t('programs.expectsKeyword')}
            onChange={(next) => set('keywords', next)}
          />
          <Entries
            title={t('programs.languages')}
            entries={languages}
            say={languageName}
            keep={1}
            label={t('programs.newLanguageCode')}
            pattern="[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
            expects={t('programs.expectsLanguage')}
            onChange={(next) =>
              onChange(() => {
                const gone = languages.find((language) => !next.includes(language));
                if (gone !== undefined) return removeLanguage(files, model, gone);
                return addLanguage(files, model, next.at(-1) ?? '');
              })
            }
          />
          <Entries
            title={t('programs.secrets')}
            entries={secrets}
            label={t('programs.newSecret')}
            pattern="[A-Z][A-Z0-9_]*"
            expects={t('programs.expectsSecret')}
            onChange={(next) => set('secrets', next)}
          />
        </div>
      </Panel>
      <Records model={model} onChange={onChange} />
      {children}
    </div>
  );
}

interface EntriesProps {
  title: string;
  entries: readonly string[];
  keep?: number;
  say?(entry: string): string;
  label: string;
  pattern: string;
  expects: string;
  onChange(entries: string[]): void;
}

function Entries({ title, entries, keep = 0, say = (entry) => entry, onChange, ...field }: EntriesProps) {
  return (
    <fieldset className="logic-map">
      <legend>{title}</legend>
      <ul className="entries">
        {entries.map((entry) => (
          <li key={entry} className="badge">
            <bdi>{say(entry)}</bdi>
            {entries.length > keep && (
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

function Records({ model, onChange }: SettingsProps) {
  const { files, records } = model;
  return (
    <Panel title={t('programs.records')}>
      <div className="stack">
        {Object.entries(records).map(([kind, fields]) => (
          <fieldset key={kind} className="logic-map">
            <legend>{kind}</legend>
            {Object.entries(fields).map(([field, type]) => (
              <Removable key={field} name={field} onRemove={() => onChange(() => removeRecord(files, [kind, field]))}>
                <ChoiceField
                  label={field}
                  value={type}
                  choices={fieldTypes}
                  onChange={(next) => onChange(() => setRecords(files, [kind, field], next))}
                />
              </Removable>
            ))}
            <AddName
              label={t('programs.newEntry', { name: kind })}
              taken={Object.keys(fields)}
              onAdd={(field) => onChange(() => setRecords(files, [kind, field], 'text'))}
            />
            <Button small icon="trash" onClick={() => onChange(() => removeRecord(files, [kind]))}>
              {t('programs.removeEntry', { name: kind })}
            </Button>
          </fieldset>
        ))}
        <AddName
          label={t('programs.newRecord')}
          taken={Object.keys(records)}
          onAdd={(kind) => onChange(() => setRecords(files, [kind], {}))}
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
  const [fault, setFault] = useState<Error>();
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
  async function act(what: Asked): Promise<void> {
    try {
      if (what === 'duplicate') {
        const copy = toProgramName(title, new Set(programs.map((program) => program.name)));
        await programApi.saveDraft(copy, {
          // Service codes and keywords belong to one program alone.
          files: setIdentity(draft.files, { name: copy, title, codes: [] }),
          revision: 0,
        });
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
    } catch (error) {
      setFault(error instanceof Error ? error : new Error(String(error)));
    }
  }
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
          <Form className="stack" onSubmit={() => act(asked)}>
            <p>{t(`programs.whole-note-${asked}`, { name: listed?.title ?? toTitle(name) })}</p>
            {asked === 'duplicate' && (
              <InputField label={t('programs.newName')} required value={title} onChange={setTitle} />
            )}
            {fault && <Fault error={fault} />}
            <div className="actions">
              <Button type="submit" main danger={asked === 'remove'}>
                {t(`programs.whole-${asked}`)}
              </Button>
              <Button onClick={() => setAsked(undefined)}>{t('app.cancel')}</Button>
            </div>
          </Form>
        </Modal>
      )}
    </Panel>
  );
}
