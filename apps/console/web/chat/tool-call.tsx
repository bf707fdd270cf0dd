import type { UIComponentProps } from '@palaver/oracles-client-sdk';
import { t } from '../i18n/text.ts';
import { JsonView } from '../ui/json-view.tsx';

const statusWords = { isRunning: 'chat.toolRunning', done: 'chat.toolDone', error: 'chat.toolFailed' } as const;
const statusTones = { isRunning: 'badge', done: 'badge badge-ok', error: 'badge badge-danger' };

/** A call of a tool, collapsed at first: its arguments and its result. */
export function ToolCall({ name, args, status, output, error }: UIComponentProps) {
  return (
    <details className="fold">
      <summary>
        {t('chat.tool')} <code>{name}</code> <span className={statusTones[status]}>{t(statusWords[status])}</span>
      </summary>
      <h3>{t('chat.arguments')}</h3>
      <JsonView value={args} label={t('chat.argumentsOf', { name })} />
      {output !== undefined && (
        <>
          <h3>{t('chat.result')}</h3>
          <JsonView value={output} label={t('chat.resultOf', { name })} />
        </>
      )}
      {error && <p className="notice notice-danger">{error}</p>}
    </details>
  );
}
