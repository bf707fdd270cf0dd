import { useChat } from '@palaver/oracles-client-sdk';
import { useEffect, useRef, useState } from 'react';
import { Composer } from './composer.tsx';
import { browserTools, useBarsAction } from './demo-tools.tsx';
import { MessageView } from './message-view.tsx';
import { PaymentWall } from './payment-wall.tsx';

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

export function Conversation({ oracleDid, sessionId, onTurnEnd }: ConversationProps) {
  const [claimIds, setClaimIds] = useState<string[]>();
  useBarsAction();
  const chat = useChat({
    oracleDid,
    sessionId,
    browserTools,
    streamingMode: 'batched',
    onPaymentRequiredError: setClaimIds,
  });
  const { messages, isSending, isLoading, sendMessageError, error } = chat;
  useTurnEnd(isSending, onTurnEnd);
  const bottom = useFollow(messages);

  return (
    <>
      <div className="chat-status">
        <span className={chat.isRealTimeConnected ? 'badge badge-ok' : 'badge badge-warn'} role="status">
          {chat.isRealTimeConnected ? 'live' : 'connecting…'}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <div className="chat-scroll" ref={bottom} tabIndex={0} role="log" aria-label="Messages" aria-busy={isSending}>
        {chat.hasMore && (
          <button type="button" className="button button-small" onClick={() => void chat.loadMore()}>
            Older messages
          </button>
        )}
        {messages.length === 0 && !isLoading && (
          <div className="chat-empty">
            <h2>Say something, or start with one of these</h2>
            <div className="starters">
              {starters.map(({ label, text }) => (
                <button key={label} type="button" className="button" onClick={() => chat.sendMessage(text)}>
                  {label}
                </button>
              ))}
            </div>
          </div>
        )}
        <ol className="messages">
          {messages.map((message) => (
            <MessageView key={message.key} message={message} />
          ))}
        </ol>
      </div>
      {error && <p className="notice notice-danger">{error.message}</p>}
      {claimIds ? (
        <PaymentWall
          claimIds={claimIds}
          onSettled={() => {
            setClaimIds(undefined);
            chat.retry();
          }}
        />
      ) : (
        sendMessageError && (
          <div className="notice notice-danger" role="alert">
            <p>{sendMessageError.message}</p>
            <button type="button" className="button button-small" onClick={chat.retry}>
              Try again
            </button>
          </div>
        )
      )}
      <Composer isSending={isSending} onSend={chat.sendMessage} onStop={() => void chat.abortStream()} />
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

/** Keeps the end in sight as it grows, unless the reader has scrolled up. */
function useFollow(messages: readonly unknown[]) {
  const region = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const element = region.current;
    if (!element) return;
    const look = () => {
      follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 80;
    };
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new messages are the reason, not an input.
  useEffect(() => {
    const element = region.current;
    if (element && follows.current) element.scrollTop = element.scrollHeight;
  }, [messages]);
  return region;
}
