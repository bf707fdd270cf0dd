'use client';

import { memo, type ReactNode, useEffect, useRef } from 'react';
import type { IMessage } from '../react/message-content.ts';
import type { UIComponents } from '../react/oracles-context.ts';
import { renderMessageContent } from '../react/render-message-content.tsx';
import type { UseChatResult } from '../react/use-chat.ts';
import type { Labels } from './labels.ts';

export interface ThreadProps {
  chat: UseChatResult;
  labels: Labels;
  uiComponents?: UIComponents | undefined;
  /** Shown while there are no messages, for example questions to begin with. */
  empty?: ReactNode;
}

/** How far from its end a reader may be and still follow the answer. */
const followPixels = 80;

/** The messages of a conversation. It follows the answer unless the reader has scrolled up. */
export function Thread({ chat, labels, uiComponents, empty }: ThreadProps) {
  const { messages, hasMore, loadMore, status, isLoading } = chat;
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new content is the reason to scroll.
  useEffect(() => {
    const { current } = box;
    if (current && isFollowing.current) current.scrollTop = current.scrollHeight;
  }, [messages]);

  return (
    <div
      ref={box}
      className="palaver-thread"
      role="log"
      aria-label={labels.thread}
      aria-busy={status === 'streaming'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isFollowing.current = scrollHeight - scrollTop - clientHeight < followPixels;
      }}
    >
      {hasMore && (
        <button type="button" className="palaver-button" onClick={() => void loadMore().catch(() => {})}>
          {labels.older}
        </button>
      )}
      {messages.length === 0 && !isLoading && empty}
      <ol>
        {messages.map((message) => (
          <Message key={message.id} message={message} labels={labels} uiComponents={uiComponents} />
        ))}
      </ol>
      {status === 'ready' && messages.at(-1)?.type === 'ai' && (
        <button type="button" className="palaver-button" onClick={() => void chat.regenerate()}>
          {labels.regenerate}
        </button>
      )}
    </div>
  );
}

interface MessageProps extends Pick<ThreadProps, 'labels' | 'uiComponents'> {
  message: IMessage;
}

const Message = memo(({ message, labels, uiComponents }: MessageProps) => {
  const { type, content, reasoning, status, uploadProgress, attachments = [] } = message;
  const isHuman = type === 'human';
  const isThinking = status === 'streaming' && content === '';
  return (
    <li className={isHuman ? 'palaver-message palaver-human' : 'palaver-message'} data-status={status}>
      <span className="palaver-hidden">{isHuman ? labels.you : labels.agent}</span>
      {reasoning && (
        <details>
          <summary>{labels.reasoning}</summary>
          {reasoning}
        </details>
      )}
      <div dir="auto">{renderMessageContent(isHuman ? message : content, uiComponents)}</div>
      {isThinking && <small>{labels.thinking}</small>}
      {uploadProgress !== undefined && (
        <progress aria-label={labels.uploading} value={uploadProgress}>
          {Math.round(uploadProgress * 100)} %
        </progress>
      )}
      {attachments.length > 0 && <small>{attachments.map(({ filename }) => filename).join(', ')}</small>}
      {status === 'aborted' && <small>{labels.stopped}</small>}
      {status === 'failed' && <small>{labels.failed}</small>}
    </li>
  );
});
