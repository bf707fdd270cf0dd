import type { UIComponentProps } from '@palaver/oracles-client-sdk';
import { JsonView } from '../ui/json-view.tsx';

const statusWords = { isRunning: 'running', done: 'done', error: 'failed' };
const statusTones = { isRunning: 'badge', done: 'badge badge-ok', error: 'badge badge-danger' };

/** A call of a tool, to be unfolded: what it was given and what it gave. */
export function ToolCall({ name, args, status, output, error }: UIComponentProps) {
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
