'use client';

import {
  createContext,
  type FormEvent,
  memo,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useRef,
  useState,
} from 'react';
import type { Attachment } from '../core/wire.ts';
import { CodeContext, type CodeProps } from '../markdown/code.tsx';
import { WordsContext } from '../react/content-view.tsx';
import { type IMessage, toIMessage } from '../react/message-content.ts';
import { renderMessageContent } from '../react/render-message-content.tsx';
import type { UIComponents } from '../react/ui-components.ts';
import type { UseChatResult } from '../react/use-chat.ts';
import { Button } from './button.tsx';
import { defaultLabels, type Labels, nameIn } from './labels.ts';

export interface ThreadProps {
  chat: UseChatResult;
  labels: Labels;
  uiComponents?: UIComponents | undefined;
  /** Shown while there are no messages, for example questions to begin with. */
  empty?: ReactNode;
}

const followPixels = 80;

const LabelsContext = createContext(defaultLabels);
const useLabels = () => useContext(LabelsContext);

/** The messages of a conversation. It follows the answer unless the reader has scrolled up. */
export function Thread({ chat, labels, uiComponents, empty }: ThreadProps) {
  const { messages, hasMore, loadMore, status, isLoading, editMessage, downloadFile } = chat;
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const [isAway, setAway] = useState(false);
  const jump = useCallback(() => {
    const { current } = box;
    if (current) current.scrollTop = current.scrollHeight;
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new content is the reason to scroll.
  useEffect(() => {
    // Whoever sends a message wants to see it, wherever they were reading.
    if (status === 'submitted') isFollowing.current = true;
    if (isFollowing.current) jump();
  }, [messages, status]);

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
        setAway(!isFollowing.current);
      }}
    >
      {hasMore && <Button label={labels.older} onClick={() => void loadMore().catch(() => {})} />}
      {messages.length === 0 && !isLoading && empty}
      <LabelsContext.Provider value={labels}>
        <WordsContext.Provider value={labels}>
          <CodeContext.Provider value={CodeBlock}>
            <ol>
              {messages.map((message) => (
                <Message
                  key={message.id}
                  message={message}
                  uiComponents={uiComponents}
                  onEdit={status === 'ready' ? editMessage : undefined}
                  onDownload={downloadFile}
                />
              ))}
            </ol>
          </CodeContext.Provider>
        </WordsContext.Provider>
      </LabelsContext.Provider>
      {status === 'ready' && messages.at(-1)?.type === 'ai' && (
        <Button label={labels.regenerate} onClick={() => void chat.regenerate()} />
      )}
      {isAway && (
        <button type="button" className="palaver-button palaver-latest" onClick={jump}>
          <span aria-hidden="true">↓</span> {labels.latest}
        </button>
      )}
    </div>
  );
}

interface MessageProps extends Pick<ThreadProps, 'uiComponents'> {
  message: IMessage;
  onEdit: UseChatResult['editMessage'] | undefined;
  onDownload: UseChatResult['downloadFile'];
}

const Message = memo(({ message: latest, uiComponents, onEdit, onDownload }: MessageProps) => {
  const labels = useLabels();
  const [isEditing, setEditing] = useState(false);
  const [back, setBack] = useState(0);
  const { earlier = [] } = latest;
  const older = earlier.at(-back);
  const message = back > 0 && older ? toIMessage(older) : latest;
  const { id, type, text, content, reasoning, status, uploadProgress, attachments = [] } = message;
  const isHuman = type === 'human';
  const isThinking = status === 'streaming' && content === '';
  const send = (changed: string) => {
    setEditing(false);
    void onEdit?.(id, changed);
  };
  return (
    <li className={isHuman ? 'palaver-message palaver-human' : 'palaver-message'} data-status={status}>
      <span className="palaver-hidden">{isHuman ? labels.you : labels.agent}</span>
      {reasoning && (
        <details>
          <summary>{labels.reasoning}</summary>
          {reasoning}
        </details>
      )}
      {isEditing ? (
        <EditMessage text={text} onSend={send} onCancel={() => setEditing(false)} />
      ) : (
        <div dir="auto">{renderMessageContent(isHuman ? message : content, uiComponents)}</div>
      )}
      {isThinking && <small>{labels.thinking}</small>}
      {uploadProgress !== undefined && (
        <progress aria-label={labels.uploading} value={uploadProgress}>
          {Math.round(uploadProgress * 100)} %
        </progress>
      )}
      {attachments.length > 0 && (
        <p className="palaver-actions">
          {attachments.map((file, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same file may be attached twice.
            <SentFile key={index} file={file} onDownload={onDownload} />
          ))}
        </p>
      )}
      {status === 'aborted' && <small>{labels.stopped}</small>}
      {status === 'failed' && <small>{labels.failed}</small>}
      {status !== 'streaming' && text && !isEditing && (
        <p className="palaver-actions">
          {!isHuman && earlier.length > 0 && <Versions back={back} count={earlier.length + 1} onChoose={setBack} />}
          <CopyText text={text} />
          {isHuman && onEdit && (
            <Button className="palaver-quiet" label={labels.edit} onClick={() => setEditing(true)} />
          )}
        </p>
      )}
    </li>
  );
});

const shownMs = 1_500;

function CopyText({ text }: { text: string }) {
  const labels = useLabels();
  const [isCopied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), shownMs);
  }
  return (
    <button type="button" className="palaver-quiet" onClick={() => void copy().catch(() => {})}>
      <span aria-live="polite">{isCopied ? labels.copied : labels.copy}</span>
    </button>
  );
}

function CodeBlock({ language, text }: CodeProps) {
  return (
    <figure className="palaver-code">
      <figcaption>
        {language}
        <CopyText text={text} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre tabIndex={0}>
        <code className={language ? `language-${language}` : undefined}>{text}</code>
      </pre>
    </figure>
  );
}

function Versions({ back, count, onChoose }: { back: number; count: number; onChoose(back: number): void }) {
  const labels = useLabels();
  const step = (to: number, name: string, sign: string) => (
    <Button
      className="palaver-quiet"
      aria-label={name}
      label={sign}
      disabled={to < 0 || to === count}
      onClick={() => onChoose(to)}
    />
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line cannot hold a fieldset.
    <span role="group" className="palaver-versions" aria-label={labels.versions}>
      {step(back + 1, labels.earlierAnswer, '‹')}
      <span aria-live="polite">
        {count - back}/{count}
      </span>
      {step(back - 1, labels.laterAnswer, '›')}
    </span>
  );
}

function SentFile({ file: { fileId, filename }, onDownload }: { file: Attachment } & Pick<MessageProps, 'onDownload'>) {
  const labels = useLabels();
  if (!fileId) return <small>{filename}</small>;
  async function save(id: string): Promise<void> {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await onDownload(id));
    link.download = filename ?? id;
    link.click();
    // Browsers begin to read it after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), shownMs);
  }
  return (
    <Button
      className="palaver-quiet"
      aria-label={nameIn(labels.download, filename ?? fileId)}
      label={`↓ ${filename ?? fileId}`}
      onClick={() => void save(fileId).catch(() => {})}
    />
  );
}

function EditMessage({ text, onSend, onCancel }: { text: string; onSend(text: string): void; onCancel(): void }) {
  const labels = useLabels();
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const changed = String(new FormData(event.currentTarget).get('text') ?? '').trim();
    if (changed) onSend(changed);
  }
  return (
    <form className="palaver-edit" onSubmit={submit} onKeyDown={({ key }) => key === 'Escape' && onCancel()}>
      <textarea
        name="text"
        className="palaver-field"
        dir="auto"
        rows={Math.min(text.split('\n').length + 1, 8)}
        defaultValue={text}
        aria-label={labels.edit}
        // biome-ignore lint/a11y/noAutofocus: the user has just asked for this field.
        autoFocus
      />
      <Button type="submit" className="palaver-button palaver-main" label={labels.resend} />
      <Button label={labels.cancel} onClick={onCancel} />
    </form>
  );
}
