/** Polls, less often with time, until `probe` returns something truthy and gives it back; after `timeoutMs` it throws the last error or `what`. */
export async function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = 150_000,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  let pauseMs = 15;
  while (Date.now() < deadline) {
    try {
      const value = await probe();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * 1.3, 150);
  }
  throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`, { cause: last });
}
