import { type FormEvent, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { InputField } from '../ui/fields.tsx';
import type { TriedCall } from './program-api.ts';
import { addFlow, type TriedStep } from './record-flow.ts';
import type { EditedDraft } from './use-draft.ts';

interface TriedPartsProps {
  tried: TriedCall;
  /** From the first dial; `undefined` if that is not all there was. */
  steps: TriedStep[] | undefined;
  draft: EditedDraft;
  onOutcome(state: string, outcome: string): void;
}

/** What is behind the screen: values, actions with their outcomes, the request and its reply, and a way to keep it all. */
export function TriedParts({ tried, steps, draft, onOutcome }: TriedPartsProps) {
  const { values, actions, exchange } = tried;
  return (
    <>
      {Object.keys(values).length > 0 && (
        <>
          <h3>{t('try.values')}</h3>
          <dl className="facts">
            {Object.entries(values).map(([key, value]) => (
              <div key={key} className="facts-row">
                <dt>{key}</dt>
                <dd className="numbers">{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {actions.length > 0 && (
        <>
          <h3>{t('try.actions')}</h3>
          {actions.map((action, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: actions are in the order in which they ran
            <label key={i} className="field">
              <span>{t('try.actionIn', { action: action.action, state: action.state })}</span>
              <select value={action.outcome} onChange={(event) => onOutcome(action.state, event.target.value)}>
                {action.outcomes.map((outcome) => (
                  <option key={outcome}>{outcome}</option>
                ))}
              </select>
            </label>
          ))}
        </>
      )}
      <RawExchange exchange={exchange} />
      <RecordFlow code={tried.serviceCode} steps={steps} draft={draft} />
    </>
  );
}

/** Written only while it is open: it repeats the screen. */
function RawExchange({ exchange: { path, request, reply } }: Pick<TriedCall, 'exchange'>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="try-raw" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('try.raw')}</summary>
      {isOpen && (
        <>
          <pre dir="ltr">{`POST ${path}\nContent-Type: ${request.contentType}\n\n${request.body}`}</pre>
          <pre dir="ltr">{`200 OK\nContent-Type: ${reply.contentType}\n\n${reply.body}`}</pre>
        </>
      )}
    </details>
  );
}

function RecordFlow({ code, steps, draft }: { code: string } & Pick<TriedPartsProps, 'steps' | 'draft'>) {
  const [name, setName] = useState('');
  const [notice, setNotice] = useState('');
  async function record(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (!steps) return;
    const { files, path } = await addFlow(draft.files, { name, code, steps });
    draft.change(files);
    setName('');
    setNotice(t('try.recorded', { path }));
  }
  return (
    <form className="try-answer" onSubmit={(event) => void record(event)}>
      <InputField
        label={t('try.recordName')}
        required
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" disabled={!steps} title={t(steps ? 'try.recordNote' : 'try.dialledAnew')}>
        {t('try.record')}
      </Button>
      <p role="status" className={notice ? 'small' : 'visually-hidden'}>
        {notice}
      </p>
    </form>
  );
}
