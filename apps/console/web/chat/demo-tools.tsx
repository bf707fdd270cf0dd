import { type ActionRenderProps, type BrowserTools, useAgAction } from '@palaver/oracles-client-sdk';
import { z } from 'zod';
import { formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { keepTheme } from '../theme.ts';

/** What the agent can do on this page: one tool that changes it, one that reads it. */
export const browserTools: BrowserTools = {
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

/** An AG-UI action: the agent sends figures, the page draws them inside the conversation. */
export function useBarsAction(): void {
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
