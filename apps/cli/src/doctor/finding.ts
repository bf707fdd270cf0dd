/** One thing that was looked at. `off` is not configured, which is fine. */
export interface Finding {
  what: string;
  state: 'ok' | 'off' | 'fault';
  found: string;
  /** What to do about it. */
  remedy?: string;
}
