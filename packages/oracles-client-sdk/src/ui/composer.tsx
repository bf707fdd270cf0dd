'use client';

import { type KeyboardEvent, useId, useState } from 'react';
import type { UseChatResult } from '../react/use-chat.ts';
import type { Labels } from './labels.ts';

export interface ComposerProps {
  chat: UseChatResult;
  labels: Labels;
}

const maxFiles = 10;

/** Writes messages, with files: Enter sends, Shift and Enter is a new line, Escape stops the answer. */
export function Composer({ chat, labels }: ComposerProps) {
  const { sendMessage, abortStream, isSending, error, sendMessageError, retry } = chat;
  const [text, setText] = useState('');
  const [files, setFiles] = useState<File[]>([]);
  const id = useId();
  const isEmpty = text.trim() === '';

  function submit(): void {
    if (isEmpty) return;
    void sendMessage(text, files.length > 0 ? { attachments: files } : undefined);
    setText('');
    setFiles([]);
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === 'Escape' && isSending) void abortStream();
    // While an input method composes, Enter chooses a word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  }

  return (
    <form
      className="palaver-composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {(error ?? sendMessageError) && (
        <p role="alert">
          {(error ?? sendMessageError)?.message}{' '}
          {sendMessageError && (
            <button type="button" className="palaver-button" onClick={retry}>
              {labels.retry}
            </button>
          )}
        </p>
      )}
      <p role="status" className="palaver-hidden">
        {isSending ? labels.writing : ''}
      </p>
      {files.length > 0 && (
        <ul className="palaver-files">
          {files.map((file) => (
            <li key={`${file.name} ${file.size} ${file.lastModified}`}>
              {file.name}
              <button
                type="button"
                aria-label={`${labels.removeFile}: ${file.name}`}
                onClick={() => setFiles(files.filter((other) => other !== file))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <label className="palaver-button palaver-attach">
        <span aria-hidden="true">＋</span>
        <span className="palaver-hidden">{labels.attach}</span>
        <input
          type="file"
          multiple
          accept="text/*,application/pdf,application/json,image/png,image/jpeg,image/gif,image/webp"
          className="palaver-hidden"
          onChange={({ target }) => {
            setFiles([...files, ...(target.files ?? [])].slice(0, maxFiles));
            target.value = '';
          }}
        />
      </label>
      <label className="palaver-hidden" htmlFor={id}>
        {labels.message}
      </label>
      <textarea
        id={id}
        rows={1}
        dir="auto"
        value={text}
        placeholder={labels.message}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isSending ? (
        <button type="button" className="palaver-button" onClick={() => void abortStream()}>
          {labels.stop}
        </button>
      ) : (
        <button type="submit" className="palaver-button palaver-main" disabled={isEmpty}>
          {labels.send}
        </button>
      )}
    </form>
  );
}
