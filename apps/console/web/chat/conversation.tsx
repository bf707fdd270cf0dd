import { type UIComponents, useChat } from '@palaver/oracles-client-sdk';
import { Composer, Thread } from '@palaver/oracles-client-sdk/ui';
import { useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Icon } from '../ui/icon.tsx';
import { AttachmentForm } from './attachment-form.tsx';
import { browserTools, useBarsAction } from './demo-tools.tsx';
import { useLabels } from './labels.ts';
import { ModelChoice } from './model-choice.tsx';
import { PaymentWall } from './payment-wall.tsx';
import { RunInspector } from './run-inspector.tsx';
import { addRunEvent, type RunLog } from './run-log.ts';
import { ToolCall } from './tool-call.tsx';

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
        <button type="button" className="button button-small" onClick={() => setInspecting(true)}>
          {t('runs.open')}
        </button>
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
                <button key={key} type="button" className="button" onClick={() => void chat.sendMessage(t(key))}>
                  {t(key)}
                </button>
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
        <button
          type="button"
          className="icon-button"
          aria-label={t('chat.attachMatrix')}
          aria-expanded={isAttaching}
          onClick={() => setAttaching(!isAttaching)}
        >
          <Icon name="clip" />
        </button>
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
