import { type FormEvent, useEffect, useState } from 'react';
import { formatMs } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/panel.tsx';
import { programApi, type Trial, type TriedCall } from './program-api.ts';
import type { TriedStep } from './record-flow.ts';
import { countText } from './screen-preview.ts';
import { TriedParts } from './tried-parts.tsx';
import type { EditedDraft } from './use-draft.ts';

interface TryPhoneProps {
  name: string;
  title: string;
  phoneNumber: string;
  draft: EditedDraft;
  language: string;
  adapter: NonNullable<Trial['adapter']>;
  onState(state: string): void;
}

interface Call {
  inputs: string[];
  /** Of the call before, where that one timed out. */
  timedOut: string[] | undefined;
  steps: TriedStep[];
  tried: TriedCall;
  ms: number;
}

type Next = Partial<Pick<Call, 'inputs' | 'timedOut' | 'steps'>> & { outcomes?: Record<string, string> };

/** A phone that plays the draft: nothing is stored or sent, and the results of actions are made up. */
export function TryPhone({ name, title, phoneNumber, draft, language, adapter, onState }: TryPhoneProps) {
  const [call, setCall] = useState<Call>();
  const [fault, setFault] = useState('');
  const [notice, setNotice] = useState('');
  const [answer, setAnswer] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [outcomes, setOutcomes] = useState<Record<string, string>>({});

  async function play({ inputs = [], timedOut, steps = [], outcomes: chosen = outcomes }: Next) {
    setNotice('');
    setAsking(true);
    try {
      await draft.settle();
      const started = performance.now();
      const trial = { inputs, language, outcomes: chosen, phoneNumber, adapter, ...(timedOut && { timedOut }) };
      const tried = await programApi.try(name, trial);
      const reply = `${tried.ended ? 'END' : 'CON'} ${tried.screen}`;
      const next = [...steps, { sent: inputs.at(-1) ?? '', reply }];
      setCall({ inputs, timedOut, steps: next, tried, ms: Math.round(performance.now() - started) });
      setFault('');
      onState(tried.state);
      return tried;
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      return undefined;
    } finally {
      setAsking(false);
    }
  }
  /** The same request once more, which adds no step. */
  const again = (chosen = outcomes) => play({ ...call, steps: call?.steps.slice(0, -1) ?? [], outcomes: chosen });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another gateway writes the same request in its own way
  useEffect(() => {
    void again();
  }, [adapter]);

  function send(event: FormEvent): void {
    event.preventDefault();
    setAnswer('');
    void (call && !call.tried.ended ? play({ ...call, inputs: [...call.inputs, answer] }) : play({}));
  }
  async function timeOut(): Promise<void> {
    await play({ timedOut: call?.inputs ?? [] });
    setNotice(t('try.timedOut'));
  }
  async function retry(): Promise<void> {
    const before = call?.tried.exchange.reply.body;
    const tried = await again();
    if (tried) setNotice(t(tried.exchange.reply.body === before ? 'try.sameReply' : 'try.otherReply'));
  }
  function choose(state: string, outcome: string): void {
    const next = { ...outcomes, [state]: outcome };
    setOutcomes(next);
    void again(next);
  }

  const tried = call?.tried;
  const { used, limit } = countText(tried?.screen ?? '');
  return (
    <Panel
      className="try-phone"
      title={title}
      beside={
        <span className="small quiet numbers" dir="ltr">
          {phoneNumber}
        </span>
      }
    >
      {fault && (
        <p className="notice notice-danger" role="alert">
          {fault}
        </p>
      )}
      {tried && (
        <>
          <output className="screen-preview" aria-live="polite" dir="auto" lang={tried.language}>
            {tried.screen}
          </output>
          <p className="small quiet numbers">
            {used}/{limit} · {tried.state} · {formatMs(call.ms)}
          </p>
        </>
      )}
      <form className="try-answer" onSubmit={send}>
        <input
          className="input"
          aria-label={t('phone.answer')}
          autoComplete="off"
          value={answer}
          disabled={!tried || tried.ended}
          onChange={(event) => setAnswer(event.target.value)}
        />
        <Button type="submit" main disabled={!tried || isAsking}>
          {t(tried?.ended ? 'try.callAgain' : 'phone.send')}
        </Button>
      </form>
      <div className="actions">
        <Button small onClick={() => void play({})}>
          {t('try.restart')}
        </Button>
        <Button small disabled={!tried || tried.ended} title={t('try.timeOutNote')} onClick={() => void timeOut()}>
          {t('try.timeOut')}
        </Button>
        <Button small disabled={!tried} title={t('try.retryNote')} onClick={() => void retry()}>
          {t('try.retry')}
        </Button>
      </div>
      <p role="status" className={notice ? 'small' : 'visually-hidden'}>
        {notice}
      </p>
      {tried && (
        <TriedParts tried={tried} steps={call.timedOut ? undefined : call.steps} draft={draft} onOutcome={choose} />
      )}
    </Panel>
  );
}
