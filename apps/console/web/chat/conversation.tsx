import { type UIComponentProps, type UIComponents, useChat, useModels } from '@palaver/oracles-client-sdk';
import { Composer, Thread } from '@palaver/oracles-client-sdk/ui';
import { useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { AttachmentForm } from './attachment-form.tsx';
import { browserTools, useBarsAction } from './demo-tools.tsx';
import { useLabels } from './labels.ts';
import { PaymentWall } from './payment-wall.tsx';
import { RunInspector } from './run-inspector.tsx';
import { addRunEvent, type RunLog } from './run-log.ts';

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
        <Button small onClick={() => setInspecting(true)}>
          {t('runs.open')}
        </Button>
        <span className={chat.isRealTimeConnected ? 'badge badge-ok' : 'badge badge-warn'} role="status">
          {t(chat.isRealTimeConnected ? 'chat.live' : 'chat.connecting')}
        </span>
      </div>
      {isInspecting && <RunInspector runs={runs} onClose={() => setInspecting(false)} />}
      <Thread
        chat={chat}
        labels={labels}
        uiComponents={uiComponents}
        empty={
          <div className="chat-empty">
            <h2>{t('chat.begin')}</h2>
            <div className="starters">
              {starters.map((key) => (
                <Button key={key} onClick={() => void chat.sendMessage(t(key))}>
                  {t(key)}
                </Button>
              ))}
            </div>
          </div>
        }
      />
      <Composer
        chat={chat}
        labels={labels}
        options={model ? { model } : undefined}
        notice={claimIds && <PaymentWall claimIds={claimIds} onSettled={payAndRetry} />}
        attach={isAttaching ? (add) => <AttachmentForm onAdd={add} /> : undefined}
      >
        <IconButton
          icon="clip"
          label={t('chat.attachMatrix')}
          aria-expanded={isAttaching}
          onClick={() => setAttaching(!isAttaching)}
        />
        <ModelChoice oracleDid={oracleDid} value={model} onChange={setModel} />
      </Composer>
    </>
  );
}

/** Calls back when a turn has ended, whatever its end. */
function useTurnEnd(isSending: boolean, onEnd: () => void): void {
  const wasSending = useRef(false);
  useEffect(() => {
    if (wasSending.current && !isSending) onEnd();
    wasSending.current = isSending;
  }, [isSending, onEnd]);
}

interface ModelChoiceProps {
  oracleDid: string;
  value: string | undefined;
  onChange(model: string): void;
}

/** The models that a message may choose from, where there are several. */
function ModelChoice({ oracleDid, value, onChange }: ModelChoiceProps) {
  const { models, defaultModelId } = useModels(oracleDid);
  if (models.length < 2) return null;
  return (
    <select
      aria-label={t('chat.model')}
      value={value ?? defaultModelId}
      onChange={(event) => onChange(event.target.value)}
    >
      {models.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

const statusWords = { isRunning: 'chat.toolRunning', done: 'chat.toolDone', error: 'chat.toolFailed' } as const;
const statusTones = { isRunning: 'badge', done: 'badge badge-ok', error: 'badge badge-danger' };

/** A call of a tool, collapsed at first: its arguments and its result. */
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
