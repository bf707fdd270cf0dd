import {
  type ActionRenderProps,
  type Attachment,
  type BrowserTools,
  type UIComponentProps,
  type UIComponents,
  useAgAction,
  useChat,
  useModels,
} from '@palaver/oracles-client-sdk';
import { Composer, defaultLabels, type Labels, loadLabels, Thread } from '@palaver/oracles-client-sdk/ui';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { z } from 'zod';
import { callAsOperator, isRefused } from '../api/call-service.ts';
import { formatNumber } from '../i18n/format.ts';
import { intlLocale, t, useLocale } from '../i18n/text.ts';
import { keepTheme } from '../theme.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Fault, OperatorSignIn } from '../ui/fault.tsx';
import { Form, InputField, Options } from '../ui/fields.tsx';
import { JsonView } from '../ui/table.tsx';
import { addRunEvent, RunInspector, type RunLog } from './run-inspector.tsx';

interface ConversationProps {
  oracleDid: string;
  sessionId: string;
  onTurnEnd(): void;
}

const starters = ['chat.starterHelp', 'chat.starterMemory', 'chat.starterChart', 'chat.starterTheme'] as const;

const uiComponents: UIComponents = { ToolCall };

export function Conversation({ oracleDid, sessionId, onTurnEnd }: ConversationProps) {
  const [claimIds, setClaimIds] = useState<string[]>();
  const [model, setModel] = useState<string>();
  const [isAttaching, setAttaching] = useState(false);
  const [runs, setRuns] = useState<RunLog[]>([]);
  const [isInspecting, setInspecting] = useState(false);
  const labels = useLabels();
  useBarsAction();
  const chat = useChat({
    oracleDid,
    sessionId,
    browserTools,
    streamingMode: 'batched',
    onPaymentRequiredError: setClaimIds,
    onEvent: (event) => {
      const prompt = chat.messages.findLast(({ type }) => type === 'human')?.text ?? '';
      setRuns((before) => addRunEvent(before, event, { now: Date.now(), prompt }));
    },
  });
  useTurnEnd(chat.isSending, onTurnEnd);
  const payAndRetry = () => {
    setClaimIds(undefined);
    chat.retry();
  };

  return (
    <>
      <div className="chat-status">
        <Button small onClick={() => setInspecting(true)}>
          {t('runs.open')}
        </Button>
        <span className={chat.isRealTimeConnected ? 'badge badge-ok' : 'badge badge-warn'} role="status">
          {t(chat.isRealTimeConnected ? 'chat.live' : 'chat.connecting')}
        </span>
      </div>
      {isInspecting && <RunInspector runs={runs} onClose={() => setInspecting(false)} />}
      <Thread
        chat={chat}
        labels={labels}
        uiComponents={uiComponents}
        empty={
          <div className="chat-empty">
            <h2>{t('chat.begin')}</h2>
            <div className="starters">
              {starters.map((key) => (
                <Button key={key} onClick={() => void chat.sendMessage(t(key))}>
                  {t(key)}
                </Button>
              ))}
            </div>
          </div>
        }
      />
      <Composer
        chat={chat}
        labels={labels}
        options={model ? { model } : undefined}
        notice={claimIds && <PaymentWall claimIds={claimIds} onSettled={payAndRetry} />}
        attach={isAttaching ? (add) => <AttachmentForm onAdd={add} /> : undefined}
      >
        <IconButton
          icon="clip"
          label={t('chat.attachMatrix')}
          aria-expanded={isAttaching}
          onClick={() => setAttaching(!isAttaching)}
        />
        <ModelChoice value={model} onChange={setModel} />
      </Composer>
    </>
  );
}

function useTurnEnd(isSending: boolean, onEnd: () => void): void {
  const wasSending = useRef(false);
  useEffect(() => {
    if (wasSending.current && !isSending) onEnd();
    wasSending.current = isSending;
  }, [isSending, onEnd]);
}

function ModelChoice({ value, onChange }: { value: string | undefined; onChange(model: string): void }) {
  const { models, defaultModelId } = useModels();
  if (models.length < 2) return null;
  return (
    <select
      aria-label={t('chat.model')}
      value={value ?? defaultModelId}
      onChange={(event) => onChange(event.target.value)}
    >
      <Options of={models.map(({ id, name }) => [id, name])} />
    </select>
  );
}

const statusWords = { isRunning: 'chat.toolRunning', done: 'chat.toolDone', error: 'chat.toolFailed' } as const;
const statusTones = { isRunning: 'badge', done: 'badge badge-ok', error: 'badge badge-danger' };

function ToolCall({ name, args, status, output, error, isRefused }: UIComponentProps) {
  const word = isRefused ? 'chat.toolRefused' : statusWords[status];
  return (
    <details className="fold">
      <summary>
        {t('chat.tool')} <code>{name}</code>{' '}
        <span className={isRefused ? 'badge' : statusTones[status]}>{t(word)}</span>
      </summary>
      <h3>{t('chat.arguments')}</h3>
      <JsonView value={args} label={t('chat.argumentsOf', { name })} />
      {output !== undefined && (
        <>
          <h3>{t('chat.result')}</h3>
          <JsonView value={output} label={t('chat.resultOf', { name })} />
        </>
      )}
      {error && !isRefused && <p className="notice notice-danger">{error}</p>}
    </details>
  );
}

/** Attachments are on the user's Matrix homeserver; the agent fetches them with the session set under About you. */
function AttachmentForm({ onAdd }: { onAdd(attachment: Attachment): void }) {
  const [mxcUri, setMxcUri] = useState('');
  const [filename, setFilename] = useState('');
  const [mimetype, setMimetype] = useState('text/plain');
  const submit = () => {
    onAdd({ mxcUri: mxcUri.trim(), filename: filename.trim(), mimetype: mimetype.trim() });
    setMxcUri('');
    setFilename('');
  };
  return (
    <Form className="field-row" aria-label={t('chat.attachment')} onSubmit={submit}>
      <InputField
        label={t('chat.contentAddress')}
        required
        pattern="mxc:\/\/[^\/\s]+\/[^\/\s]+"
        placeholder="mxc://server/id"
        value={mxcUri}
        onChange={setMxcUri}
      />
      <InputField label={t('chat.fileName')} required value={filename} onChange={setFilename} />
      <InputField label={t('chat.fileType')} required value={mimetype} onChange={setMimetype} />
      <Button type="submit">{t('chat.add')}</Button>
    </Form>
  );
}

/** Once the claims are settled, the refused message is sent again. */
function PaymentWall({ claimIds, onSettled }: { claimIds: string[]; onSettled(): void }) {
  const settle = useMutation({
    mutationFn: async () => {
      for (const id of claimIds) {
        await callAsOperator('agent', `/credits/claims/${encodeURIComponent(id)}/settle`, { method: 'POST' });
      }
    },
    onSuccess: onSettled,
  });
  return (
    <section className="notice notice-warn payment-wall" aria-label={t('chat.payment')}>
      <h2>{t('chat.creditUsed')}</h2>
      <p>{t('chat.claims', { count: claimIds.length })}</p>
      <ul>
        {claimIds.map((id) => (
          <li key={id}>
            <code>{id}</code>
          </li>
        ))}
      </ul>
      <div className="actions">
        <Button onClick={onSettled}>{t('chat.paid')}</Button>
        <Button disabled={settle.isPending} onClick={() => settle.mutate()}>
          {t('chat.settle')}
        </Button>
      </div>
      {isRefused(settle.error) ? (
        <OperatorSignIn message={t('chat.settleOperators')} />
      ) : (
        settle.error && <Fault error={settle.error} />
      )}
    </section>
  );
}

const browserTools: BrowserTools = {
  set_page_theme: {
    toolName: 'set_page_theme',
    description: 'Changes the colour theme of the console page the user is looking at.',
    schema: z.object({ theme: z.enum(['system', 'light', 'dark']) }),
    fn: ({ theme }: { theme: 'system' | 'light' | 'dark' }) => {
      keepTheme(theme);
      return { theme };
    },
  },
  read_page: {
    toolName: 'read_page',
    description: 'Returns which page the user is on, its size, language and time zone.',
    schema: z.object({}),
    fn: () => ({
      title: document.title,
      width: window.innerWidth,
      height: window.innerHeight,
      language: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  },
};

const barsSchema = z.object({
  title: z.string(),
  bars: z
    .array(z.object({ label: z.string(), value: z.number().min(0) }))
    .min(1)
    .max(12),
});

const barsAction = 'show_bars';

/** An AG-UI action: the agent sends figures, the page draws them in the conversation. */
function useBarsAction(): void {
  useAgAction({
    name: barsAction,
    description: 'Draws labelled figures as a bar chart in the conversation.',
    parameters: barsSchema,
    handler: async ({ bars }) => ({ drawn: bars.length }),
    render: (props) => <Bars {...props} />,
  });
}

function Bars({ status, args, error }: ActionRenderProps<z.infer<typeof barsSchema>>) {
  const parsed = barsSchema.safeParse(args);
  if (status === 'error' || !parsed.success)
    return <p className="notice notice-danger">{error ?? t('chat.notFigures')}</p>;
  const { title, bars } = parsed.data;
  const top = Math.max(...bars.map(({ value }) => value), 1);
  return (
    <figure className="bars" data-status={status}>
      <figcaption>{title}</figcaption>
      <dl>
        {bars.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(value / top) * 100} height="10" rx="1" />
              </svg>
              <span className="numbers">{formatNumber(value, Number.isInteger(value) ? 0 : 2)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}

export function useLabels(): Labels {
  const locale = useLocale();
  const { data } = useQuery({
    queryKey: ['chat-labels', locale],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => loadLabels(locale),
  });
  return { ...defaultLabels, ...data, language: intlLocale() };
}
