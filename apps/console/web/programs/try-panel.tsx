import { useEffect, useState } from 'react';
import { formatMs, t } from '../i18n/text.ts';
import { Facts, Notice, Panel, Refusal } from '../ui/content.tsx';
import { Button, Form, InputField, Options, SelectField } from '../ui/controls.tsx';
import type { EditedDraft } from './draft.tsx';
import { toFree } from './names.ts';
import { type ProgramFiles, programApi, type Trial, type TriedCall } from './program-api.ts';
import { countText } from './text-fields.tsx';

interface TryPanelProps {
  name: string;
  draft: EditedDraft;
  languages: string[];
  onState(state: string): void;
}

type Adapter = NonNullable<Trial['adapter']>;

const adapters: Record<Adapter, string> = { 'africas-talking': 'Africa’s Talking', arkesel: 'Arkesel' };

export function TryPanel({ languages, ...rest }: TryPanelProps) {
  const [language, setLanguage] = useState(languages[0] ?? 'en');
  const [adapter, setAdapter] = useState<Adapter>('africas-talking');
  const [hasSecond, setSecond] = useState(false);
  const shared = { ...rest, language, adapter };
  return (
    <div className="try-panel">
      <div className="try-options">
        <SelectField label={t('app.language')} value={language} onChange={setLanguage} options={languages} />
        <SelectField
          label={t('try.adapter')}
          value={adapter}
          onChange={setAdapter}
          options={Object.entries(adapters) as [Adapter, string][]}
        />
        <Button aria-pressed={hasSecond} onClick={() => setSecond(!hasSecond)}>
          {t(hasSecond ? 'try.putAway' : 'try.second')}
        </Button>
      </div>
      <TryPhone key={`1 ${language}`} {...shared} title={t('try.first')} phoneNumber="+254700000001" />
      {hasSecond && <TryPhone key={`2 ${language}`} {...shared} title={t('try.second')} phoneNumber="+254700000002" />}
    </div>
  );
}

interface TryPhoneProps extends Omit<TryPanelProps, 'languages'> {
  title: string;
  phoneNumber: string;
  language: string;
  adapter: Adapter;
}

interface Call {
  inputs: string[];
  /** The inputs of the call before, if that one timed out. */
  timedOut: string[] | undefined;
  steps: TriedStep[];
  tried: TriedCall;
  ms: number;
}

type Next = Partial<Pick<Call, 'inputs' | 'timedOut' | 'steps'>> & { outcomes?: Record<string, string> };

/** Nothing is stored or sent, and the results of actions are made up. */
function TryPhone({ name, title, phoneNumber, draft, language, adapter, onState }: TryPhoneProps) {
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
  const again = (chosen = outcomes) => play({ ...call, steps: call?.steps.slice(0, -1) ?? [], outcomes: chosen });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another gateway writes the same request in its own way
  useEffect(() => {
    void again();
  }, [adapter]);

  function send(): void {
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
      <Refusal text={fault} />
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
      <Form className="try-answer" onSubmit={send}>
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
      </Form>
      <div className="actions">
        <Button text={t('try.restart')} small onClick={() => void play({})} />
        <Button small disabled={!tried || tried.ended} title={t('try.timeOutNote')} onClick={() => void timeOut()}>
          {t('try.timeOut')}
        </Button>
        <Button text={t('try.retry')} small disabled={!tried} title={t('try.retryNote')} onClick={() => void retry()} />
      </div>
      <Notice look="small" text={notice} />
      {tried && (
        <TriedParts tried={tried} steps={call.timedOut ? undefined : call.steps} draft={draft} onOutcome={choose} />
      )}
    </Panel>
  );
}

interface TriedPartsProps {
  tried: TriedCall;
  /** From the first dial; undefined if some are missing. */
  steps: TriedStep[] | undefined;
  draft: EditedDraft;
  onOutcome(state: string, outcome: string): void;
}

function TriedParts({ tried, steps, draft, onOutcome }: TriedPartsProps) {
  const { values, actions, exchange } = tried;
  return (
    <>
      {Object.keys(values).length > 0 && (
        <>
          <h3>{t('try.values')}</h3>
          <Facts rows={Object.entries(values)} isNumeric />
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
                <Options of={action.outcomes} />
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
  async function record(): Promise<void> {
    if (!steps) return;
    const { files, path } = await addFlow(draft.files, { name, code, steps });
    draft.change(files);
    setName('');
    setNotice(t('try.recorded', { path }));
  }
  return (
    <Form className="try-answer" onSubmit={record}>
      <InputField label={t('try.recordName')} required maxLength={100} value={name} onChange={setName} />
      <Button type="submit" disabled={!steps} title={t(steps ? 'try.recordNote' : 'try.dialledAnew')}>
        {t('try.record')}
      </Button>
      <Notice look="small" text={notice} />
    </Form>
  );
}

type TriedStep = Record<'sent' | 'reply', string>;

/** Kept as `palaver program test` plays it; answers that look like a PIN are masked. */
export async function addFlow(
  files: ProgramFiles,
  { name, code, steps }: { name: string; code: string; steps: readonly TriedStep[] },
): Promise<{ files: ProgramFiles; path: string }> {
  const { formatFlow, maskSecrets } = await import('@palaver/ussd/commands/flow');
  const flow = steps.map(({ sent, reply }, i) => (i === 0 ? { dial: code, reply } : { send: sent, reply }));
  const path = toFreePath(files, name);
  return { files: { ...files, [path]: formatFlow({ name, steps: maskSecrets(flow) }) }, path };
}

function toFreePath(files: ProgramFiles, name: string): string {
  const words = name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const stem = words.replace(/^-|-$/g, '').slice(0, 60) || 'call';
  const taken = Object.keys(files).map((path) => path.replace(/\.yaml$/, ''));
  return `${toFree(`flows/${stem}`, new Set(taken), '-')}.yaml`;
}
