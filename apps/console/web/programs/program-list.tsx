import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { formatDay } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { Icon } from '../ui/icon.tsx';
import { Link } from '../ui/link.tsx';
import { newProgram } from './edit-program.ts';
import { type ListedProgram, programApi } from './program-api.ts';

/** All programs of the deployment, published or from its folder. */
export function ProgramList({ programs, mayEdit }: { programs: ListedProgram[]; mayEdit: boolean }) {
  return (
    <div className="stack">
      {mayEdit && <NewProgram />}
      <ul className="program-list">
        {programs.map(({ name, codes, languages, version, isPublished, draft }) => (
          <li key={name} className="panel">
            <h2>
              <Link href={`/programs?program=${name}`}>{name}</Link>
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

function NewProgram() {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [code, setCode] = useState('');
  const [fault, setFault] = useState('');
  async function create(event: FormEvent): Promise<void> {
    event.preventDefault();
    try {
      await programApi.saveDraft(name, { files: newProgram(name, code), revision: 0 });
      await queries.invalidateQueries({ queryKey: ['programs'] });
      navigate(`/programs?program=${name}`);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  }
  return (
    <form className="new-program" onSubmit={(event) => void create(event)}>
      <label className="field">
        <span>{t('programs.newName')}</span>
        <input required pattern="[a-z][a-z0-9\-]*" value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        <span>{t('programs.code')}</span>
        <input
          required
          // Also from left to right where the page is not.
          dir="ltr"
          pattern="\*[0-9*]+#"
          placeholder="*384*5#"
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </label>
      <button type="submit" className="button button-main">
        <Icon name="plus" size={18} />
        {t('programs.create')}
      </button>
      {fault && (
        <p className="over" role="alert">
          {fault}
        </p>
      )}
    </form>
  );
}
