import {
  type Attachment,
  type UIComponentProps,
  type UIComponents,
  useChat,
  useModels,
  useOraclesContext,
} from '@palaver/oracles-client-sdk';
import { Composer, defaultLabels, type Labels, loadLabels, Thread } from '@palaver/oracles-client-sdk/ui';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { intlLocale, t, useLocale } from '../i18n/text.ts';
import { JsonView } from '../ui/content.tsx';
import { Button, Form, IconButton, InputField, Options } from '../ui/controls.tsx';
import { browserTools, useBarsAction } from './page-tools.tsx';
import { addRunEvent, type RunLog } from './run-log.ts';

const RunInspector = lazy(async () => ({ default: (await import('./run-inspector.tsx')).RunInspector }));
const PaymentWall = lazy(async () => ({ default: (await import('./payment-wall.tsx')).PaymentWall }));

interface ConversationProps {
  oracleDid: string;
  sessionId: string;
  onTurnEnd(): void;
}

const starters = ['chat.starterHelp', 'chat.starterMemory', 'chat.starterChart', 'chat.starterTheme'] as const;

const uiComponents: UIComponents = { ToolCall };

export function Conversation({ oracleDid, sessionId, onTurnEnd }: ConversationProps) {
  const [claimIds, setClaimIds] = useState<string[]>();
  const [model, setModel] = useState<string>();
  const [isAttaching, setAttaching] = useState(false);
  const [runs, setRuns] = useState<RunLog[]>([]);
  const [isInspecting, setInspecting] = useState(false);
  const labels = useLabels();
  const hasMatrix = useOraclesContext().wallet.matrix.homeServer !== '';
  useBarsAction();
  const chat = useChat({
    oracleDid,
    sessionId,
    browserTools,
    streamingMode: 'batched',
    onPaymentRequiredError: setClaimIds,
    onEvent: (event) => {
      const prompt = chat.messages.findLast(({ type }) => type === 'human')?.text ?? '';
      setRuns((before) => addRunEvent(before, event, { now: Date.now(), prompt }));
    },
  });
  useTurnEnd(chat.isSending, onTurnEnd);
  const payAndRetry = () => {
    setClaimIds(undefined);
    chat.retry();
  };

  return (
    <>
      <div className="chat-status">
        <Button text={t('runs.open')} small onClick={() => setInspecting(true)} />
        <span className={chat.isRealTimeConnected ? 'badge badge-ok' : 'badge badge-warn'} role="status">
          {t(chat.isRealTimeConnected ? 'chat.live' : 'chat.connecting')}
        </span>
      </div>
      <Suspense>{isInspecting && <RunInspector runs={runs} onClose={() => setInspecting(false)} />}</Suspense>
      <Thread
        chat={chat}
        labels={labels}
        uiComponents={uiComponents}
        empty={
          <div className="chat-empty">
            <h2>{t('chat.begin')}</h2>
            <div className="starters">
              {starters.map((key) => (
                <Button key={key} text={t(key)} onClick={() => void chat.sendMessage(t(key))} />
              ))}
            </div>
          </div>
        }
      />
      <Composer
        chat={chat}
        labels={labels}
        options={model ? { model } : undefined}
        notice={
          claimIds && (
            <Suspense>
              <PaymentWall claimIds={claimIds} onSettled={payAndRetry} />
            </Suspense>
          )
        }
        attach={hasMatrix && isAttaching ? (add) => <AttachmentForm onAdd={add} /> : undefined}
      >
        {hasMatrix && (
          <IconButton
            icon="clip"
            label={t('chat.attachMatrix')}
            aria-expanded={isAttaching}
            onClick={() => setAttaching(!isAttaching)}
          />
        )}
        <ModelChoice value={model} onChange={setModel} />
      </Composer>
    </>
  );
}

function useTurnEnd(isSending: boolean, onEnd: () => void): void {
  const wasSending = useRef(false);
  useEffect(() => {
    if (wasSending.current && !isSending) onEnd();
    wasSending.current = isSending;
  }, [isSending, onEnd]);
}

function ModelChoice({ value, onChange }: { value: string | undefined; onChange(model: string): void }) {
  const { models, defaultModelId } = useModels();
  if (models.length < 2) return null;
  return (
    <select
      aria-label={t('chat.model')}
      value={value ?? defaultModelId}
      onChange={(event) => onChange(event.target.value)}
    >
      <Options of={models.map(({ id, name }) => [id, name])} />
    </select>
  );
}

const statusWords = { isRunning: 'chat.toolRunning', done: 'chat.toolDone', error: 'chat.toolFailed' } as const;
const statusTones = { isRunning: 'badge', done: 'badge badge-ok', error: 'badge badge-danger' };

function ToolCall({ name, args, status, output, error, isRefused }: UIComponentProps) {
  const word = isRefused ? 'chat.toolRefused' : statusWords[status];
  return (
    <details className="fold">
      <summary>
        {t('chat.tool')} <code>{name}</code>{' '}
        <span className={isRefused ? 'badge' : statusTones[status]}>{t(word)}</span>
      </summary>
      <h3>{t('chat.arguments')}</h3>
      <JsonView value={args} label={t('chat.argumentsOf', { name })} />
      {output !== undefined && (
        <>
          <h3>{t('chat.result')}</h3>
          <JsonView value={output} label={t('chat.resultOf', { name })} />
        </>
      )}
      {error && !isRefused && <p className="notice notice-danger">{error}</p>}
    </details>
  );
}

/** Attachments are on the user's Matrix homeserver; the agent fetches them with the session set under About you. */
function AttachmentForm({ onAdd }: { onAdd(attachment: Attachment): void }) {
  const [mxcUri, setMxcUri] = useState('');
  const [filename, setFilename] = useState('');
  const [mimetype, setMimetype] = useState('text/plain');
  const submit = () => {
    onAdd({ mxcUri: mxcUri.trim(), filename: filename.trim(), mimetype: mimetype.trim() });
    setMxcUri('');
    setFilename('');
  };
  return (
    <Form className="field-row" aria-label={t('chat.attachment')} onSubmit={submit}>
      <InputField
        label={t('chat.contentAddress')}
        required
        pattern="mxc:\/\/[^\/\s]+\/[^\/\s]+"
        placeholder="mxc://server/id"
        value={mxcUri}
        onChange={setMxcUri}
      />
      <InputField label={t('chat.fileName')} required value={filename} onChange={setFilename} />
      <InputField label={t('chat.fileType')} required value={mimetype} onChange={setMimetype} />
      <Button type="submit">{t('chat.add')}</Button>
    </Form>
  );
}

export function useLabels(): Labels {
  const locale = useLocale();
  const { data } = useQuery({
    queryKey: ['chat-labels', locale],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => loadLabels(locale),
  });
  return { ...defaultLabels, ...data, language: intlLocale() };
}
