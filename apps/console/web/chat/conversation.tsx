import { type UIComponents, useChat } from '@palaver/oracles-client-sdk';
import { Composer, Thread } from '@palaver/oracles-client-sdk/ui';
import { useEffect, useRef, useState } from 'react';
import { Icon } from '../ui/icon.tsx';
import { AttachmentForm } from './attachment-form.tsx';
import { browserTools, useBarsAction } from './demo-tools.tsx';
import { labels } from './labels.ts';
import { ModelChoice } from './model-choice.tsx';
import { PaymentWall } from './payment-wall.tsx';
import { ToolCall } from './tool-call.tsx';

interface ConversationProps {
  oracleDid: string;
  sessionId: string;
  onTurnEnd(): void;
}

const starters = [
  { label: 'What can you do?', text: 'What can you do?' },
  { label: 'Remember something', text: 'Remember that I grow tea near Kericho' },
  {
    label: 'Draw a chart',
    text: '/tool show_bars {"title":"Trees planted","bars":[{"label":"June","value":120},{"label":"July","value":310},{"label":"August","value":240}]}',
  },
  { label: 'Change the page', text: '/tool set_page_theme {"theme":"dark"}' },
];

const uiComponents: UIComponents = { ToolCall };

export function Conversation({ oracleDid, sessionId, onTurnEnd }: ConversationProps) {
  const [claimIds, setClaimIds] = useState<string[]>();
  const [model, setModel] = useState<string>();
  const [isAttaching, setAttaching] = useState(false);
  useBarsAction();
  const chat = useChat({
    oracleDid,
    sessionId,
    browserTools,
    streamingMode: 'batched',
    onPaymentRequiredError: setClaimIds,
  });
  useTurnEnd(chat.isSending, onTurnEnd);
  const payAndRetry = () => {
    setClaimIds(undefined);
    chat.retry();
  };

  return (
    <>
      <div className="chat-status">
        <span className={chat.isRealTimeConnected ? 'badge badge-ok' : 'badge badge-warn'} role="status">
          {chat.isRealTimeConnected ? 'live' : 'connecting…'}
        </span>
      </div>
      <Thread
        chat={chat}
        labels={labels}
        uiComponents={uiComponents}
        empty={
          <div className="chat-empty">
            <h2>Say something, or start with one of these</h2>
            <div className="starters">
              {starters.map(({ label, text }) => (
                <button key={label} type="button" className="button" onClick={() => void chat.sendMessage(text)}>
                  {label}
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
          aria-label="Attach from Matrix"
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
