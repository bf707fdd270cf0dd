import { type ActionRenderProps, type BrowserTools, type Schema, useAgAction } from '@palaver/oracles-client-sdk';
import { formatNumber, t } from '../i18n/text.ts';
import { keepTheme } from '../theme.ts';

/** A Standard Schema of JSON Schema and a check: a library of schemas would be an eighth of what a chat loads. */
function toSchema<Args>(properties: Record<string, object>, isValid: (args: Args) => boolean) {
  const json = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
  const standard = {
    version: 1,
    vendor: 'palaver',
    validate: (args: unknown) =>
      isValid(Object(args)) ? { value: args as Args } : { issues: [{ message: 'they do not match the schema' }] },
    jsonSchema: { input: () => json },
  } as const;
  return { '~standard': standard } as Schema<Args>;
}

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

export const browserTools: BrowserTools = {
  set_page_theme: {
    toolName: 'set_page_theme',
    description: 'Changes the colour theme of the console page the user is looking at.',
    schema: toSchema<{ theme: Theme }>({ theme: { type: 'string', enum: themes } }, ({ theme }) =>
      themes.includes(theme),
    ),
    fn: ({ theme }: { theme: Theme }) => {
      keepTheme(theme);
      return { theme };
    },
  },
  read_page: {
    toolName: 'read_page',
    description: 'Returns which page the user is on, its size, language and time zone.',
    schema: toSchema({}, () => true),
    fn: () => ({
      title: document.title,
      width: window.innerWidth,
      height: window.innerHeight,
      language: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  },
};

interface Figures {
  title: string;
  bars: { label: string; value: number }[];
}

const most = 12;
const bar = {
  type: 'object',
  properties: { label: { type: 'string' }, value: { type: 'number', minimum: 0 } },
  required: ['label', 'value'],
};
const figures = {
  title: { type: 'string' },
  bars: { type: 'array', items: bar, minItems: 1, maxItems: most },
};

function areFigures({ title, bars }: Figures): boolean {
  const isCounted = Array.isArray(bars) && bars.length > 0 && bars.length <= most;
  return (
    isCounted &&
    typeof title === 'string' &&
    bars.every((each) => typeof each?.label === 'string' && typeof each.value === 'number' && each.value >= 0)
  );
}

const figuresSchema = toSchema(figures, areFigures);
const barsAction = 'show_bars';

export function useBarsAction(): void {
  useAgAction({
    name: barsAction,
    description: 'Draws labelled figures as a bar chart in the conversation.',
    parameters: figuresSchema,
    handler: async ({ bars }) => ({ drawn: bars.length }),
    render: (props) => <Bars {...props} />,
  });
}

function Bars({ status, args, error }: ActionRenderProps<Figures>) {
  const shown = Object(args) as Figures;
  if (status === 'error' || !areFigures(shown))
    return <p className="notice notice-danger">{error ?? t('chat.notFigures')}</p>;
  const { title, bars } = shown;
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
