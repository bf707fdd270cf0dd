import { type ChangeEvent, useEffect, useId, useRef } from 'react';
import { download } from '../ui/download.ts';
import { Icon } from '../ui/icon.tsx';
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
    const file = formatFlow({ name: `Recorded on ${name}`, steps: maskSecrets(steps.map(toFlowStep)) });
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
        <h3 id={heading}>Transcript</h3>
        <div className="actions">
          <button
            type="button"
            className="button button-small"
            disabled={steps.length === 0}
            onClick={() => void save()}
          >
            <Icon name="save" size={16} />
            Save flow
          </button>
          <label className="button button-small file-button">
            <Icon name="replay" size={16} />
            Replay…
            <input
              type="file"
              accept=".yaml,.yml"
              onChange={(event) => void load(event)}
              aria-label="Replay a flow file"
            />
          </label>
        </div>
      </div>
      {outcome && <Outcome outcome={outcome} />}
      {steps.length === 0 ? (
        <p className="empty">The dialogue appears here, step by step.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <ol className="transcript" ref={list} tabIndex={0} aria-label={`Transcript of ${name}`}>
          {steps.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever appended
            <li key={index}>
              <p className="said">
                <span className="quiet">{step.kind === 'dial' ? 'Dialled' : 'Sent'}</span>{' '}
                <code>{step.sent === '' ? '(nothing)' : step.sent}</code>
              </p>
              <p className={step.reply.startsWith('END') ? 'shown shown-end' : 'shown'}>{step.reply}</p>
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
        Replayed “{outcome.name}”: every screen was as recorded.
      </p>
    );
  }
  return (
    <div className="notice notice-danger" role="status">
      <p>
        “{outcome.name}” differs at step {outcome.step}.
      </p>
      <dl className="difference">
        <dt>Recorded</dt>
        <dd>{outcome.expected}</dd>
        <dt>Shown now</dt>
        <dd>{outcome.received}</dd>
      </dl>
    </div>
  );
}

function toFlowStep({ kind, sent, reply }: Step) {
  return kind === 'dial' ? { dial: sent, reply } : { send: sent, reply };
}
