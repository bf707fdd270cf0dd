import { intlLocale } from './text.ts';

type Moment = string | number | Date | null | undefined;

const show = (time: Moment, options: Intl.DateTimeFormatOptions) =>
  time ? new Intl.DateTimeFormat(intlLocale(), options).format(new Date(time)) : '–';

/** The protocol counts its days in UTC. */
export const formatDay = (time: Moment): string => show(time, { dateStyle: 'medium', timeZone: 'UTC' });

/** In the reader's time zone. */
export const formatMoment = (time: Moment): string => show(time, { dateStyle: 'medium', timeStyle: 'medium' });

/** The services count their days in UTC. */
export function formatUtc(time: Moment): string {
  return show(time, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
}

export const formatTime = (time: Moment): string => show(time, { timeStyle: 'medium' });

export function formatAxis(time: number, spanMs: number): string {
  return show(time, spanMs > 2 * 86_400_000 ? { dateStyle: 'medium' } : { timeStyle: 'short' });
}

export function formatNumber(value: number, digits = 0): string {
  return new Intl.NumberFormat(intlLocale(), { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(
    value,
  );
}

export function formatPercent(share: number): string {
  return new Intl.NumberFormat(intlLocale(), { style: 'percent' }).format(share);
}

/** The protocol sends amounts as text. */
export function formatCount(text: string | undefined): string {
  return text === undefined ? '–' : formatNumber(Number(text));
}

export const formatMs = (ms: number): string => `${formatNumber(ms, ms < 10 ? 1 : 0)} ms`;

export function formatUnit(value: number, unit: 'second' | 'minute' | 'hour' | 'day'): string {
  return new Intl.NumberFormat(intlLocale(), { style: 'unit', unit, maximumFractionDigits: 0 }).format(value);
}

/** “Swahili” for `sw`, in the language shown. */
export function languageName(tag: string): string {
  try {
    return new Intl.DisplayNames(intlLocale(), { type: 'language' }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}
