import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
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
            <p className="numbers">{toCodes(version, codes)}</p>
            <p className="badges">
              <span className="badge">{languages.join(', ') || 'no language'}</span>
              <span className={isPublished ? 'badge badge-ok' : 'badge'}>
                {version === null ? 'not in use' : isPublished ? 'published' : 'from the folder'}
              </span>
              {draft && <span className="badge badge-warn">draft of {draft.updatedAt.slice(0, 10)}</span>}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}

function toCodes(version: string | null, codes: string[]): string {
  if (version === null) return 'no code yet';
  return codes.length > 0 ? codes.join(', ') : 'every other code';
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
        <span>Name of a new program</span>
        <input required pattern="[a-z][a-z0-9\-]*" value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        <span>Service code</span>
        <input
          required
          pattern="\*[0-9*]+#"
          placeholder="*384*5#"
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </label>
      <button type="submit" className="button button-main">
        <Icon name="plus" size={18} />
        Create
      </button>
      {fault && (
        <p className="over" role="alert">
          {fault}
        </p>
      )}
    </form>
  );
}
