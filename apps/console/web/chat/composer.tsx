import type { Attachment, SendOptions } from '@palaver/oracles-client-sdk';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type KeyboardEvent, useState } from 'react';
import { callService } from '../api/call-service.ts';
import { Icon } from '../ui/icon.tsx';
import { AttachmentForm } from './attachment-form.tsx';

interface ComposerProps {
  isSending: boolean;
  onSend(text: string, options?: SendOptions): void;
  onStop(): void;
}

interface Models {
  models: { id: string; name: string }[];
  default: string;
}

export function Composer({ isSending, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('');
  const [model, setModel] = useState('');
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const [isAttaching, setAttaching] = useState(false);
  const models = useQuery({
    queryKey: ['models'],
    staleTime: 60_000,
    queryFn: async () => (await callService('agent', '/models')).json() as Promise<Models>,
  });
  const choices = models.data?.models ?? [];

  function send(): void {
    if (text.trim() === '') return;
    onSend(text, { ...(model && { model }), ...(attachments.length > 0 && { attachments }) });
    setText('');
    setAttachments([]);
    setAttaching(false);
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <div className="composer">
      {isAttaching && <AttachmentForm onAdd={(attachment) => setAttachments([...attachments, attachment])} />}
      {attachments.length > 0 && (
        <ul className="attachments" aria-label="Attachments">
          {attachments.map((attachment) => (
            <li key={attachment.mxcUri} className="badge">
              {attachment.filename}
              <button
                type="button"
                className="badge-remove"
                aria-label={`Remove ${attachment.filename}`}
                onClick={() => setAttachments(attachments.filter((other) => other !== attachment))}
              >
                <Icon name="close" size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <form className="composer-row" onSubmit={submit}>
        <button
          type="button"
          className="icon-button"
          aria-label="Attach"
          aria-expanded={isAttaching}
          onClick={() => setAttaching(!isAttaching)}
        >
          <Icon name="clip" />
        </button>
        <textarea
          aria-label="Message"
          placeholder="Message"
          rows={1}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={sendOnEnter}
        />
        {choices.length > 1 && (
          <select
            aria-label="Model"
            value={model || models.data?.default}
            onChange={(event) => setModel(event.target.value)}
          >
            {choices.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
        {isSending && (
          <button type="button" className="button" onClick={onStop}>
            <Icon name="stop" size={16} />
            Stop
          </button>
        )}
        <button type="submit" className="button button-main" disabled={text.trim() === ''}>
          <Icon name="send" size={18} />
          Send
        </button>
      </form>
    </div>
  );
}
