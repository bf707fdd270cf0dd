import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { formatDay } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { InputField, SelectField } from '../ui/fields.tsx';
import { Link } from '../ui/link.tsx';
import { codePattern, toProgramName, toTitle } from './names.ts';
import { type ListedProgram, programApi } from './program-api.ts';
import { createProgram, type Template, templates } from './templates.ts';

/** All programs of the deployment, published or from its folder. */
export function ProgramList({ programs, mayEdit }: { programs: ListedProgram[]; mayEdit: boolean }) {
  return (
    <div className="stack">
      {mayEdit && <NewProgram taken={programs.map(({ name }) => name)} />}
      <ul className="program-list">
        {programs.map(({ name, codes, languages, version, isPublished, draft }) => (
          <li key={name} className="panel">
            <h2>
              <Link href={`/programs?program=${name}`}>{toTitle(name)}</Link>
            </h2>
            <p className="numbers">
              <bdi>{toCodes(version, codes)}</bdi>
            </p>
            <p className="badges">
              <span className="badge">{languages.join(', ') || t('programs.noLanguage')}</span>
              <span className={isPublished ? 'badge badge-ok' : 'badge'}>
                {t(version === null ? 'programs.notInUse' : isPublished ? 'programs.published' : 'programs.fromFolder')}
              </span>
              {draft && (
                <span className="badge badge-warn">{t('programs.draftOf', { day: formatDay(draft.updatedAt) })}</span>
              )}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}

function toCodes(version: string | null, codes: string[]): string {
  if (version === null) return t('programs.noCode');
  return codes.length > 0 ? codes.join(', ') : t('programs.otherCodes');
}

function NewProgram({ taken }: { taken: readonly string[] }) {
  const queries = useQueryClient();
  const [title, setTitle] = useState('');
  const [code, setCode] = useState('');
  const [template, setTemplate] = useState<Template>('blank');
  const [fault, setFault] = useState<Error>();
  async function create(event: FormEvent): Promise<void> {
    event.preventDefault();
    const name = toProgramName(title, new Set(taken));
    try {
      const files = await createProgram({ name, title: title.trim(), code, template });
      await programApi.saveDraft(name, { files, revision: 0 });
      await queries.invalidateQueries({ queryKey: ['programs'] });
      navigate(`/programs?program=${name}`);
    } catch (error) {
      setFault(error instanceof Error ? error : new Error(String(error)));
    }
  }
  return (
    <form className="new-program" onSubmit={(event) => void create(event)}>
      <InputField
        label={t('programs.newName')}
        required
        maxLength={80}
        value={title}
        onChange={(event) => setTitle(event.target.value)}
      />
      <InputField
        label={t('programs.code')}
        required
        // Also from left to right where the page is not.
        dir="ltr"
        pattern={codePattern}
        expects={t('programs.expectsCode')}
        placeholder="*384*5#"
        value={code}
        onChange={(event) => setCode(event.target.value)}
      />
      <SelectField
        label={t('programs.template')}
        value={template}
        onChange={(event) => setTemplate(event.target.value as Template)}
      >
        {templates.map((each) => (
          <option key={each} value={each}>
            {t(`programs.template-${each}`)}
          </option>
        ))}
      </SelectField>
      <Button type="submit" main icon="plus">
        {t('programs.create')}
      </Button>
      {fault && <Fault error={fault} />}
    </form>
  );
}
