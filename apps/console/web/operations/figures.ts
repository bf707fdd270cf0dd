import { useEffect, useState, useSyncExternalStore } from 'react';
import type { KeptAlarm } from '../../src/history/history-store.ts';
import type { LoadPoint } from '../../src/history/watch-services.ts';
import type { WatchedNode } from '../../src/metrics/load.ts';
import { callAsOperator, isRefused, type ServiceName, useOperatorToken } from '../api/call-service.ts';
import type { MessageKey } from '../i18n/text.ts';
import { onEvents } from '../location.ts';

export const watched: { service: ServiceName; title: MessageKey; series: number }[] = [
  { service: 'ussd-gateway', title: 'service.ussd-gateway', series: 1 },
  { service: 'agent', title: 'service.agent', series: 2 },
  { service: 'gateway', title: 'service.gateway', series: 3 },
  { service: 'console', title: 'service.console', series: 4 },
];

export const titleOf = (name: string): MessageKey =>
  watched.find(({ service }) => service === name)?.title ?? 'service.console';

/** By the name of the part; `health:agent` is the health of one service. */
export type Figures = Readonly<Record<string, unknown>> & {
  readonly alarms?: readonly KeptAlarm[];
  readonly load?: readonly LoadPoint[];
  readonly nodes?: readonly WatchedNode[];
  readonly refused?: readonly string[];
};

export type Shown<Part> = (Part & { refused?: undefined }) | { refused: string } | undefined;

const keptPoints = 60;
const keptErrors = 60;
const againMs = 5_000;
const onVisibility = onEvents('visibilitychange');

/** Follows the figures on one connection, which is closed while nobody sees the page. */
export function useFigures(): { figures: Figures; error: Error | undefined } {
  const token = useOperatorToken();
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden);
  const [figures, setFigures] = useState<Figures>({});
  const [error, setError] = useState<Error>();
  useEffect(() => {
    setError(undefined);
    if (!isVisible) return;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const follow = async () => {
      let isFirst = true;
      try {
        const reply = await callAsOperator('console', '/figures', { signal: leaving.signal });
        for await (const part of readLines(reply)) {
          setFigures((before) => merge(isFirst ? {} : before, part));
          isFirst = false;
        }
      } catch (fault) {
        if (leaving.signal.aborted) return;
        setError(fault as Error);
        // Services lock an address out after some wrong tokens in a minute.
        if (isRefused(fault)) return;
      }
      timer = setTimeout(follow, againMs);
    };
    // The token is part of what is asked.
    void token;
    void follow();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [token, isVisible]);
  return { figures, error };
}

function merge(before: Figures, part: Figures): Figures {
  const added = Object.entries(part).map(([name, value]) => {
    const kept = Array.isArray(before[name]) ? before[name] : [];
    if (name === 'load') return [name, [...kept, ...(part.load ?? [])].slice(-keptPoints)];
    const isNew = name.startsWith('errors:') && Array.isArray(value);
    return [name, isNew ? [...value, ...kept].slice(0, keptErrors) : value];
  });
  return { ...before, ...Object.fromEntries(added) };
}

async function* readLines(reply: Response): AsyncGenerator<Figures> {
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as Figures;
  }
}
