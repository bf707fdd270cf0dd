import { useSyncExternalStore } from 'react';
import { onEvents } from '../location.ts';

const key = 'palaver.tour';
const changed = 'palaver:tour';
const subscribe = onEvents(changed);

export function useTourOpen(): boolean {
  return useSyncExternalStore(subscribe, () => localStorage.getItem(key) === null);
}

export function closeTour(): void {
  localStorage.setItem(key, 'done');
  window.dispatchEvent(new Event(changed));
}

export function openTour(): void {
  localStorage.removeItem(key);
  window.dispatchEvent(new Event(changed));
}
