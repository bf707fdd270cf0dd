'use client';

import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useId,
  useState,
} from 'react';
import type { SendOptions } from '../core/chat-interface.ts';
import { isBlob, type OutgoingFile } from '../core/upload-files.ts';
import type { UseChatResult } from '../react/use-chat.ts';
import { Button } from './button.tsx';
import { type Labels, nameIn } from './labels.ts';

export interface ComposerProps {
  chat: UseChatResult;
  labels: Labels;
  /** Sent along with every message, for example the model. */
  options?: Omit<SendOptions, 'attachments' | 'replaces'> | undefined;
  /** In place of the chat's error, for example a bill. */
  notice?: ReactNode;
  /** Another way to attach: gets the function that adds a file. */
  attach?: ((add: (file: OutgoingFile) => void) => ReactNode) | undefined;
  children?: ReactNode;
}

const maxFiles = 10;
const nameOf = (file: OutgoingFile) => (isBlob(file) ? (file as File).name : file.filename);

/** Without it the browser opens what is dropped in place of the page. */
function allowFiles(event: DragEvent): void {
  if (event.dataTransfer.types.includes('Files')) event.preventDefault();
}

/** Writes messages, with files chosen, dropped or pasted: Enter sends, Shift and Enter is a new line, Escape stops the answer. */
export function Composer({ chat, labels, options, notice, attach, children }: ComposerProps) {
  const { sendMessage, abortStream, isSending } = chat;
  const [text, setText] = useState('');
  const [files, setFiles] = useState<OutgoingFile[]>([]);
  const id = useId();
  const isEmpty = text.trim() === '';
  const add = (...added: OutgoingFile[]) => setFiles((before) => [...before, ...added].slice(0, maxFiles));

  function take(event: ClipboardEvent | DragEvent, { files }: DataTransfer): void {
    if (files.length === 0) return;
    event.preventDefault();
    add(...files);
  }
  function submit(event: FormEvent | KeyboardEvent): void {
    event.preventDefault();
    if (isEmpty) return;
    void sendMessage(text, { ...options, ...(files.length > 0 && { attachments: files }) });
    setText('');
    setFiles([]);
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === 'Escape' && isSending) void abortStream();
    // While an input method composes, Enter chooses a word.
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  }

  return (
    <div className="palaver-composer">
      {notice ?? <Fault chat={chat} labels={labels} />}
      <p role="status" className="palaver-status">
        {isSending ? toWaiting(chat, labels) : ''}
      </p>
      {attach?.(add)}
      {files.length > 0 && (
        <ul className="palaver-files" aria-label={labels.files}>
          {files.map((file, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same file may be attached twice.
            <li key={index}>
              {nameOf(file)}
              <button
                type="button"
                aria-label={nameIn(labels.removeFile, nameOf(file))}
                onClick={() => setFiles(files.filter((other) => other !== file))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <form onSubmit={submit} onDragOver={allowFiles} onDrop={(event) => take(event, event.dataTransfer)}>
        <label className="palaver-button palaver-attach">
          <span aria-hidden="true">+</span>
          <span className="palaver-hidden">{labels.attach}</span>
          <input
            type="file"
            multiple
            accept="text/*,application/pdf,application/json,image/png,image/jpeg,image/gif,image/webp"
            className="palaver-hidden"
            onChange={({ target }) => {
              add(...(target.files ?? []));
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
          onPaste={(event) => take(event, event.clipboardData)}
        />
        {children}
        {isSending ? (
          <Button label={labels.stop} onClick={() => void abortStream()} />
        ) : (
          <Button type="submit" className="palaver-button palaver-main" label={labels.send} disabled={isEmpty} />
        )}
      </form>
    </div>
  );
}

function toWaiting({ messages, pendingApprovals, status }: UseChatResult, labels: Labels): string {
  if (messages.some(({ uploadProgress }) => uploadProgress !== undefined)) return labels.uploading;
  if (pendingApprovals.length > 0) return labels.deciding;
  if (status === 'submitted') return labels.submitted;
  const call = messages.at(-1)?.toolCalls?.findLast((other) => other.status === 'isRunning');
  return call ? nameIn(labels.calling, call.name) : labels.writing;
}

function Fault({ chat: { error, sendMessageError, retry }, labels }: Pick<ComposerProps, 'chat' | 'labels'>) {
  const fault = error ?? sendMessageError;
  if (!fault) return null;
  return (
    <p role="alert">
      {fault.message} {(sendMessageError || fault.retryable) && <Button label={labels.retry} onClick={retry} />}
    </p>
  );
}
