import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useOperatorToken } from '../api/operator-token.ts';
import { Icon } from '../ui/icon.tsx';
import type { ProgramDiff } from './diff-programs.ts';
import { programApi } from './program-api.ts';
import type { EditedDraft } from './use-draft.ts';

interface PublishProps {
  name: string;
  draft: EditedDraft;
  diff: ProgramDiff;
  hasFaults: boolean;
}

/** What the draft changes, in words, and the versions before it. */
export function PublishPanel({ name, draft, diff, hasFaults }: PublishProps) {
  const token = useOperatorToken();
  const heading = useId();
  const queries = useQueryClient();
  const [note, setNote] = useState('');
  const [outcome, setOutcome] = useState<{ isFault: boolean; text: string }>();
  const versions = useQuery({ queryKey: ['program-versions', name, token], queryFn: () => programApi.versions(name) });

  async function act(run: () => Promise<{ version: string }>, done: string): Promise<void> {
    try {
      const { version } = await run();
      setOutcome({ isFault: false, text: `${version} ${done}` });
      setNote('');
    } catch (error) {
      setOutcome({ isFault: true, text: error instanceof Error ? error.message : String(error) });
    }
    for (const key of ['programs', 'program-versions', 'program-in-use'])
      await queries.invalidateQueries({ queryKey: [key] });
  }
  const publish = async () => {
    const revision = await draft.settle();
    return programApi.publish(name, { revision, ...(note !== '' && { note }) });
  };

  return (
    <section className="panel publish-panel" aria-labelledby={heading}>
      <div className="panel-head">
        <h2 id={heading}>Publish</h2>
      </div>
      {outcome && (
        <p className={outcome.isFault ? 'notice notice-danger' : 'notice'} role="status">
          {outcome.text}
        </p>
      )}
      {diff.words.length === 0 ? (
        <p className="empty">The draft is what callers get now.</p>
      ) : (
        <ul className="diff-words">
          {diff.words.map((word) => (
            <li key={word}>{word}</li>
          ))}
        </ul>
      )}
      <div className="field-row">
        <label className="field">
          <span>Note for the history</span>
          <input value={note} maxLength={200} onChange={(event) => setNote(event.target.value)} />
        </label>
        <button
          type="button"
          className="button button-main"
          disabled={hasFaults || diff.words.length === 0}
          onClick={() => void act(publish, 'is in use.')}
        >
          Publish
        </button>
      </div>
      {hasFaults && <p className="small over">A program with problems cannot be published.</p>}
      <h3>History</h3>
      <ol className="history">
        {versions.data?.versions.map(({ version, usedAt, publishedBy, note: words, isCurrent }) => (
          <li key={version}>
            <span>
              <code>{version.slice(version.indexOf('@') + 1)}</code> {new Date(usedAt).toLocaleString()}
              {publishedBy && ` by ${publishedBy}`}
              {words && <em>: {words}</em>}
            </span>
            {isCurrent ? (
              <span className="badge badge-ok">in use</span>
            ) : (
              <button
                type="button"
                className="button button-small"
                aria-label={`Roll back to ${version}`}
                onClick={() => void act(() => programApi.rollBack(name, version), 'is in use again.')}
              >
                <Icon name="replay" size={16} />
                Roll back
              </button>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
