import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useOperatorQuery } from '../api/call-service.ts';
import { formatMoment, t } from '../i18n/text.ts';
import { Link, Panel } from '../ui/content.tsx';
import { Ask, Button, InputField } from '../ui/controls.tsx';
import type { ProgramChange, ProgramDiff } from './diff-programs.ts';
import type { EditedDraft } from './draft.tsx';
import { titleOf } from './kinds.ts';
import { programApi } from './program-api.ts';

interface PublishProps {
  name: string;
  code: string | undefined;
  draft: EditedDraft;
  diff: ProgramDiff;
  hasFaults: boolean;
}

export function PublishPanel({ name, code, draft, diff, hasFaults }: PublishProps) {
  const queries = useQueryClient();
  const [note, setNote] = useState('');
  const [asked, setAsked] = useState<string>();
  const versions = useOperatorQuery({ queryKey: ['program-versions', name], queryFn: () => programApi.versions(name) });

  const act = useMutation({
    mutationFn: async (back?: string) => {
      if (back !== undefined)
        return { done: 'programs.inUseAgain' as const, ...(await programApi.rollBack(name, back)) };
      const revision = await draft.settle();
      const published = await programApi.publish(name, { revision, ...(note !== '' && { note }) });
      return { done: 'programs.nowInUse' as const, ...published };
    },
    onSuccess: () => setNote(''),
    async onSettled() {
      for (const key of ['programs', 'program-versions', 'program-in-use'])
        await queries.invalidateQueries({ queryKey: [key] });
    },
  });

  return (
    <Panel className="publish-panel" title={t('programs.publish')} beside={null}>
      {(act.data ?? act.error) && (
        <p className={act.error ? 'notice notice-danger' : 'notice'} role="status">
          {act.data ? t(act.data.done, { version: act.data.version }) : act.error?.message}{' '}
          {act.data && code !== undefined && (
            <Link href={`/phone?code=${encodeURIComponent(code)}`}>{t('programs.dial', { code })}</Link>
          )}
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
        <InputField label={t('programs.note')} value={note} maxLength={200} onChange={setNote} />
        <Button
          text={t('programs.publish')}
          main
          disabled={hasFaults || diff.changes.length === 0}
          onClick={() => act.mutate(undefined)}
        />
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
              <Button
                text={t('programs.rollBack')}
                small
                icon="replay"
                aria-label={t('programs.rollBackTo', { version })}
                onClick={() => setAsked(version)}
              />
            )}
          </li>
        ))}
      </ol>
      {asked !== undefined && (
        <Ask
          title={t('programs.rollBack')}
          text={t('programs.rollBackNote', { version: asked })}
          onClose={() => setAsked(undefined)}
          onConfirm={() => {
            setAsked(undefined);
            act.mutate(asked);
          }}
        />
      )}
    </Panel>
  );
}

function sayChange(change: ProgramChange): string {
  switch (change.is) {
    case 'isNew':
    case 'isRemoved':
      return t(`programs.${change.is}`, { name: change.name, kind: titleOf(change.kind) });
    case 'differs':
      return t('programs.differs', { name: change.name, fields: change.fields.join(', ') });
    case 'newLanguage':
      return t('programs.newLanguage', { language: change.language });
    case 'newText':
      return t('programs.newText', { language: change.language, key: change.key, text: change.text });
    case 'changedText':
      return t('programs.changedText', { language: change.language, was: change.was, text: change.text });
    case 'changedFile':
      return t('programs.changedFile', { path: change.path });
    case 'onlySettings':
      return t('programs.onlySettings');
  }
}
