/** True only if the device reports that it is offline. */
export function isOffline(): boolean {
  const { navigator } = globalThis as { navigator?: { onLine?: boolean } };
  return navigator?.onLine === false;
}
