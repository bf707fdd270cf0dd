import { type FormEvent, useEffect, useId, useState } from 'react';
import { programApi, type TriedCall } from './program-api.ts';
import { countText } from './screen-preview.ts';
import type { EditedDraft } from './use-draft.ts';

interface TryPhoneProps {
  name: string;
  draft: EditedDraft;
  languages: string[];
  onState(state: string): void;
}

interface Call {
  inputs: string[];
  tried: TriedCall;
  ms: number;
}

/** A phone that plays the draft: nothing is stored or sent, and the results of actions are made up. */
export function TryPhone({ name, draft, languages, onState }: TryPhoneProps) {
  const heading = useId();
  const [call, setCall] = useState<Call>();
  const [fault, setFault] = useState('');
  const [answer, setAnswer] = useState('');
  const [language, setLanguage] = useState(languages[0] ?? 'en');
  const [outcomes, setOutcomes] = useState<Record<string, string>>({});

  async function play(inputs: string[], chosen = outcomes): Promise<void> {
    try {
      await draft.settle();
      const started = performance.now();
      const tried = await programApi.try(name, { inputs, language, outcomes: chosen });
      setCall({ inputs, tried, ms: Math.round(performance.now() - started) });
      setFault('');
      onState(tried.state);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: another language begins the call again
  useEffect(() => {
    void play([]);
  }, [language]);
  function send(event: FormEvent): void {
    event.preventDefault();
    setAnswer('');
    void play(call && !call.tried.ended ? [...call.inputs, answer] : []);
  }
  function choose(state: string, outcome: string): void {
    const next = { ...outcomes, [state]: outcome };
    setOutcomes(next);
    void play(call?.inputs ?? [], next);
  }

  const tried = call?.tried;
  const { used, limit } = countText(tried?.screen ?? '');
  return (
    <section className="panel try-phone" aria-labelledby={heading}>
      <div className="panel-head">
        <h2 id={heading}>Try the draft</h2>
        <select
          className="input"
          aria-label="Language"
          value={language}
          onChange={(event) => setLanguage(event.target.value)}
        >
          {languages.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </div>
      {fault && (
        <p className="notice notice-danger" role="alert">
          {fault}
        </p>
      )}
      {tried && (
        <>
          <output className="screen-preview" aria-live="polite" lang={tried.language}>
            {tried.screen}
          </output>
          <p className="small quiet numbers">
            {used}/{limit} · {tried.state} · {call.ms} ms
          </p>
        </>
      )}
      <form className="try-answer" onSubmit={send}>
        <input
          className="input"
          aria-label="Answer"
          autoComplete="off"
          value={answer}
          disabled={!tried || tried.ended}
          onChange={(event) => setAnswer(event.target.value)}
        />
        <button type="submit" className="button button-main" disabled={!tried}>
          {tried?.ended ? 'Call again' : 'Send'}
        </button>
        <button type="button" className="button" onClick={() => void play([])}>
          Start again
        </button>
      </form>
      {tried && Object.keys(tried.values).length > 0 && (
        <>
          <h3>Values</h3>
          <dl className="facts">
            {Object.entries(tried.values).map(([key, value]) => (
              <div key={key} className="facts-row">
                <dt>{key}</dt>
                <dd className="numbers">{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {tried && tried.actions.length > 0 && (
        <>
          <h3>Actions</h3>
          {tried.actions.map((action, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: actions are in the order in which they ran
            <label key={i} className="field">
              <span>
                {action.action} in {action.state}
              </span>
              <select value={action.outcome} onChange={(event) => choose(action.state, event.target.value)}>
                {action.outcomes.map((outcome) => (
                  <option key={outcome}>{outcome}</option>
                ))}
              </select>
            </label>
          ))}
        </>
      )}
    </section>
  );
}
