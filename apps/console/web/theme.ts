import { useSyncExternalStore } from 'react';
import { onEvents } from './location.ts';

export type Theme = 'system' | 'light' | 'dark';

const key = 'palaver.theme';
const changed = 'palaver:theme';
const subscribe = onEvents(changed);
const order: Theme[] = ['system', 'light', 'dark'];

export function readTheme(): Theme {
  const stored = localStorage.getItem(key);
  return order.find((theme) => theme === stored) ?? 'system';
}

/** Without an attribute the stylesheet follows the system. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function keepTheme(theme: Theme): void {
  localStorage.setItem(key, theme);
  applyTheme(theme);
  window.dispatchEvent(new Event(changed));
}

export const nextTheme = (theme: Theme): Theme => order[(order.indexOf(theme) + 1) % order.length] ?? 'system';

/** The agent may change the theme too. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, readTheme);
}
