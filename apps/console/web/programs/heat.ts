import { formatNumber, formatPercent, formatUnit } from '../i18n/text.ts';
import type { Counts, ProgramStats } from './program-api.ts';

export const heats = ['lost', 'refused', 'slow', 'shown'] as const;
export type Heat = (typeof heats)[number];

export interface StateHeat {
  share: number;
  /** A function, because the language may change. */
  label(): string;
}

const slowest = 60;

export const lostOf = ({ exited, timedOut }: Counts): number => exited + timedOut;

export const toPercent = (part: number, whole: number): string => (whole === 0 ? '–' : formatPercent(part / whole));

export const toSeconds = (seconds: number | null): string => (seconds === null ? '–' : formatUnit(seconds, 'second'));

export function toHeat(stats: ProgramStats | undefined, heat: Heat): Map<string, StateHeat> {
  const states = stats?.states ?? [];
  const most = Math.max(1, ...states.map(({ shown }) => shown));
  return new Map(states.map((counts) => [counts.state, ofState(counts, heat, most)]));
}

function ofState(counts: Counts, heat: Heat, most: number): StateHeat {
  const { shown, refused, answered, medianSeconds } = counts;
  const part = (count: number, of: number) => ({
    share: of === 0 ? 0 : Math.min(1, count / of),
    label: () => toPercent(count, of),
  });
  switch (heat) {
    case 'lost':
      return part(lostOf(counts), shown);
    case 'refused':
      return part(refused, refused + answered);
    case 'slow':
      return { share: Math.min(1, (medianSeconds ?? 0) / slowest), label: () => toSeconds(medianSeconds) };
    case 'shown':
      return { share: shown / most, label: () => formatNumber(shown) };
  }
}
