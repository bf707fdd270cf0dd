/// <reference types="vite/client" />
import { useSyncExternalStore } from 'react';
import type en from './en.json';

export const locales = { en: 'English', fr: 'Français', sw: 'Kiswahili', ar: 'العربية' } as const;
export type Locale = keyof typeof locales;

export type Forms = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;
export type MessageKey = keyof typeof en;
export type Messages = { [Key in MessageKey]: (typeof en)[Key] extends string ? string : Forms };

type Files = Record<string, () => Promise<Messages>>;
const others: Files = import.meta.glob<Messages>('./*.json', { query: '?others', import: 'default' });
const programs: Files = import.meta.glob<Messages>('./*.json', { query: '?programs', import: 'default' });
// Figures are mixed with identifiers everywhere, so Arabic has the digits that identifiers have.
const intlLocales: Record<Locale, string> = { en: 'en-GB', fr: 'fr', sw: 'sw', ar: 'ar-u-nu-latn' };

const key = 'palaver.locale';
const listeners = new Set<() => void>();
let current: { locale: Locale; messages: Messages } | undefined;
let parts = [others];

export function readLocale(): Locale {
  const wanted = [localStorage.getItem(key) ?? '', ...navigator.languages].map((tag) => tag.split('-')[0]);
  return wanted.find((tag): tag is Locale => tag !== undefined && Object.hasOwn(locales, tag)) ?? 'en';
}

export async function showLocale(locale: Locale): Promise<void> {
  const loaded = await Promise.all(parts.map((files) => files[`./${locale}.json`]?.()));
  current = { locale, messages: Object.assign({}, ...loaded) };
  document.documentElement.lang = locale;
  document.documentElement.dir = locale === 'ar' ? 'rtl' : 'ltr';
  for (const notify of listeners) notify();
}

export async function addProgramTexts(): Promise<void> {
  parts = [others, programs];
  await showLocale(current?.locale ?? readLocale());
}

export async function keepLocale(locale: Locale): Promise<void> {
  await showLocale(locale);
  localStorage.setItem(key, locale);
}

/** The root of the page uses it, so that a change draws every text again. */
export function useLocale(): Locale {
  return useSyncExternalStore(
    (notify) => {
      listeners.add(notify);
      return () => listeners.delete(notify);
    },
    () => current?.locale ?? 'en',
  );
}

export const intlLocale = () => intlLocales[current?.locale ?? 'en'];

/** `{name}` stands for a value; numbers are written as the language writes them. */
export function t(key: MessageKey, values: Record<string, string | number> = {}): string {
  if (!current) return key;
  return fillMessage(current.messages[key], intlLocale(), values);
}

export function fillMessage(message: string | Forms, locale: string, values: Record<string, string | number>): string {
  const text = typeof message === 'string' ? message : chooseForm(message, locale, Number(values.count));
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = values[name] ?? placeholder;
    return typeof value === 'number' ? new Intl.NumberFormat(locale).format(value) : value;
  });
}

function chooseForm(forms: Forms, locale: string, count: number): string {
  return forms[new Intl.PluralRules(locale).select(count)] ?? forms.other;
}

type Moment = string | number | Date | null | undefined;

const show = (time: Moment, options: Intl.DateTimeFormatOptions) =>
  time ? new Intl.DateTimeFormat(intlLocale(), options).format(new Date(time)) : '–';

/** The protocol counts its days in UTC. */
export const formatDay = (time: Moment): string => show(time, { dateStyle: 'medium', timeZone: 'UTC' });

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
