/** Rejects with the signal's reason once it fires. It may fire before anybody waits for the promise. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // Otherwise a rejection that nobody waits for yet would end the process.
  promise.catch(() => {});
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}
