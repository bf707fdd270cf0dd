import { setTimeout as wait } from 'node:timers/promises';
import { isAllowedHost, openPublic, RefusedAddressError } from '@palaver/ucan/open-public';

export interface Webhook {
  url: string;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: readonly string[];
}

const attemptMs = 10_000;
const pausesMs = [1_000, 5_000, 25_000];

/**
 * Posts JSON to a webhook: over TLS, at public addresses only, unless its host is allowed. Redirects are not followed. Tries
 * again where that may help; the result is why it did not work.
 */
export async function sendWebhook(webhook: Webhook, body: object, signal: AbortSignal): Promise<string | undefined> {
  for (const pauseMs of [...pausesMs, 0]) {
    const { fault, isFinal } = await post(webhook, body, signal);
    if (fault === undefined || isFinal || pauseMs === 0 || signal.aborted) return fault;
    await wait(pauseMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}

async function post({ url, allowedHosts }: Webhook, body: object, closing: AbortSignal) {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(attemptMs)]);
  const target = new URL(url);
  try {
    const answer = await openPublic(target, {
      ...{ signal, method: 'POST', body: JSON.stringify(body), isAllowed: isAllowedHost(target, allowedHosts) },
      headers: { 'content-type': 'application/json' },
    });
    // Nobody reads the answer; an endless one ends here.
    answer.destroy();
    const { statusCode: status = 0 } = answer;
    if (status >= 200 && status < 300) return { fault: undefined, isFinal: true };
    return { fault: `it answered ${status}`, isFinal: status < 500 && status !== 429 };
  } catch (error) {
    return { fault: (error as Error).message, isFinal: error instanceof RefusedAddressError };
  }
}
