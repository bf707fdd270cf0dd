import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { useOperatorToken } from '../api/operator-token.ts';
import { formatMoment } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import { type ProgramDiff, sayChange } from './diff-programs.ts';
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

  async function act(
    run: () => Promise<{ version: string }>,
    done: 'programs.nowInUse' | 'programs.inUseAgain',
  ): Promise<void> {
    try {
      const { version } = await run();
      setOutcome({ isFault: false, text: t(done, { version }) });
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
        <h2 id={heading}>{t('programs.publish')}</h2>
      </div>
      {outcome && (
        <p className={outcome.isFault ? 'notice notice-danger' : 'notice'} role="status">
          {outcome.text}
        </p>
      )}
      {diff.changes.length === 0 ? (
        <p className="empty">{t('programs.asPublished')}</p>
      ) : (
        <ul className="diff-words">
          {diff.changes.map(sayChange).map((sentence) => (
            <li key={sentence} dir="auto">
              {sentence}
            </li>
          ))}
        </ul>
      )}
      <div className="field-row">
        <label className="field">
          <span>{t('programs.note')}</span>
          <input value={note} maxLength={200} onChange={(event) => setNote(event.target.value)} />
        </label>
        <button
          type="button"
          className="button button-main"
          disabled={hasFaults || diff.changes.length === 0}
          onClick={() => void act(publish, 'programs.nowInUse')}
        >
          {t('programs.publish')}
        </button>
      </div>
      {hasFaults && <p className="small over">{t('programs.cannotPublish')}</p>}
      <h3>{t('programs.history')}</h3>
      <ol className="history">
        {versions.data?.versions.map(({ version, usedAt, publishedBy, note: words, isCurrent }) => (
          <li key={version}>
            <span>
              <code>{version.slice(version.indexOf('@') + 1)}</code> {formatMoment(usedAt)}
              {publishedBy && ` ${t('programs.by', { name: publishedBy })}`}
              {words && <em>: {words}</em>}
            </span>
            {isCurrent ? (
              <span className="badge badge-ok">{t('programs.inUse')}</span>
            ) : (
              <button
                type="button"
                className="button button-small"
                aria-label={t('programs.rollBackTo', { version })}
                onClick={() => void act(() => programApi.rollBack(name, version), 'programs.inUseAgain')}
              >
                <Icon name="replay" size={16} />
                {t('programs.rollBack')}
              </button>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
