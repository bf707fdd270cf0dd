import { type IMessage, renderMessageContent, type ToolCall } from '@palaver/oracles-client-sdk';
import { memo } from 'react';
import { Icon } from '../ui/icon.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { barsAction } from './demo-tools.tsx';

/** One message: its reasoning and tool calls folded, its text, what was drawn for it. */
export const MessageView = memo(({ message }: { message: IMessage }) => {
  const { type, content, status, reasoning, toolCalls = [], attachments = [], components } = message;
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
      {toolCalls.map((call) =>
        call.name === barsAction ? (
          <div key={call.id}>{renderMessageContent({ content: '', toolCalls: [call] })}</div>
        ) : (
          <Call key={call.id} call={call} />
        ),
      )}
      <div className="message-text">{renderMessageContent({ type, content, components })}</div>
      {status === 'streaming' && content === '' && toolCalls.length === 0 && <span className="dots">Thinking…</span>}
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

const statusWords = { isRunning: 'running', done: 'done', error: 'failed' };
const statusTones = { isRunning: 'badge', done: 'badge badge-ok', error: 'badge badge-danger' };

function Call({ call }: { call: ToolCall }) {
  const { name, args, status, output, error } = call;
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
