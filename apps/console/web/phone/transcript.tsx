import { type ChangeEvent, useEffect, useId, useRef } from 'react';
import { t } from '../i18n/text.ts';
import { Button, Icon } from '../ui/button.tsx';
import { download } from '../ui/download.ts';
import type { PhoneLine, ReplayOutcome, Step } from './use-phone.ts';

interface TranscriptProps {
  name: string;
  phone: PhoneLine;
}

/** What was dialled, answered and shown; it can be kept as a flow file and played again. */
export function Transcript({ name, phone }: TranscriptProps) {
  const { steps, outcome } = phone;
  const heading = useId();
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (steps.length > 0 && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [steps.length]);

  async function save(): Promise<void> {
    const { formatFlow } = await import('@palaver/ussd/commands/flow');
    const { maskSecrets } = await import('@palaver/ussd/commands/flow-secrets');
    const file = formatFlow({ name: t('phone.recordedOn', { name }), steps: maskSecrets(steps.map(toFlowStep)) });
    download('dialogue.yaml', file, 'application/yaml');
  }
  async function load(event: ChangeEvent<HTMLInputElement>): Promise<void> {
    const file = event.target.files?.[0];
    event.target.value = '';
    if (file) phone.replay(await file.text());
  }

  return (
    <section className="panel" aria-labelledby={heading}>
      <div className="panel-head">
        <h3 id={heading}>{t('phone.transcript')}</h3>
        <div className="actions">
          <Button small icon="save" disabled={steps.length === 0} onClick={() => void save()}>
            {t('phone.save')}
          </Button>
          <label className="button button-small file-button">
            <Icon name="replay" size={16} />
            {t('phone.replay')}
            <input
              type="file"
              accept=".yaml,.yml"
              onChange={(event) => void load(event)}
              aria-label={t('phone.replayFile')}
            />
          </label>
        </div>
      </div>
      {outcome && <Outcome outcome={outcome} />}
      {steps.length === 0 ? (
        <p className="empty">{t('phone.noTranscript')}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <ol className="transcript" ref={list} tabIndex={0} aria-label={t('phone.transcriptOf', { name })}>
          {steps.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever appended
            <li key={index}>
              <p className="said">
                <span className="quiet">{t(step.kind === 'dial' ? 'phone.dialled' : 'phone.sent')}</span>{' '}
                <code>{step.sent === '' ? t('phone.nothing') : step.sent}</code>
              </p>
              <p dir="auto" className={step.reply.startsWith('END') ? 'shown shown-end' : 'shown'}>
                {step.reply}
              </p>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Outcome({ outcome }: { outcome: ReplayOutcome }) {
  if (outcome.ok) {
    return (
      <p className="notice" role="status">
        {t('phone.replayed', { name: outcome.name })}
      </p>
    );
  }
  return (
    <div className="notice notice-danger" role="status">
      <p>{t('phone.differs', { name: outcome.name, step: outcome.step })}</p>
      <dl className="difference">
        <dt>{t('phone.recorded')}</dt>
        <dd>{outcome.expected}</dd>
        <dt>{t('phone.shownNow')}</dt>
        <dd>{outcome.received}</dd>
      </dl>
    </div>
  );
}

function toFlowStep({ kind, sent, reply }: Step) {
  return kind === 'dial' ? { dial: sent, reply } : { send: sent, reply };
}
