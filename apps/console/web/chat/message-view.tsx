import { type IMessage, renderMessageContent, type UIComponentProps } from '@palaver/oracles-client-sdk';
import { memo } from 'react';
import { Icon } from '../ui/icon.tsx';
import { JsonView } from '../ui/json-view.tsx';

/** One message: its reasoning folded, then texts, tool calls and what was drawn for it in their order. */
export const MessageView = memo(({ message }: { message: IMessage }) => {
  const { type, content, status, reasoning, attachments = [] } = message;
  const isHuman = type === 'human';
  return (
    <li className={isHuman ? 'message message-human' : 'message'} data-status={status}>
      <span className="visually-hidden">{isHuman ? 'You said:' : 'The agent said:'}</span>
      {reasoning && (
        <details className="fold">
          <summary>Reasoning</summary>
          <p>{reasoning}</p>
        </details>
      )}
      <div className="message-text">{renderMessageContent(isHuman ? message : content, callComponents)}</div>
      {status === 'streaming' && content === '' && <span className="dots">Thinking…</span>}
      {attachments.length > 0 && (
        <ul className="attachments">
          {attachments.map(({ filename, mxcUri, eventId }) => (
            <li key={mxcUri ?? eventId} className="badge">
              <Icon name="clip" size={14} />
              {filename}
            </li>
          ))}
        </ul>
      )}
      {status === 'aborted' && <span className="badge badge-warn">stopped</span>}
      {status === 'failed' && <span className="badge badge-danger">failed</span>}
    </li>
  );
});

const callComponents = { ToolCall: Call };

const statusWords = { isRunning: 'running', done: 'done', error: 'failed' };
const statusTones = { isRunning: 'badge', done: 'badge badge-ok', error: 'badge badge-danger' };

function Call({ name, args, status, output, error }: UIComponentProps) {
  return (
    <details className="fold">
      <summary>
        Tool <code>{name}</code> <span className={statusTones[status]}>{statusWords[status]}</span>
      </summary>
      <h3>Arguments</h3>
      <JsonView value={args} label={`Arguments of ${name}`} />
      {output !== undefined && (
        <>
          <h3>Result</h3>
          <JsonView value={output} label={`Result of ${name}`} />
        </>
      )}
      {error && <p className="notice notice-danger">{error}</p>}
    </details>
  );
}
