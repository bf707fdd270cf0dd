import { isIP } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createHostLookup } from '@palaver/ucan/host-lookup';
import { guardLookup, isPublicAddress } from '@palaver/ucan/public-address';
import { Agent, fetch } from 'undici';

export interface Webhook {
  url: string;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: readonly string[];
}

const attemptMs = 10_000;
const pausesMs = [1_000, 5_000, 25_000];

/** Why a webhook may not be called at all. */
export function findWebhookFault({ url, allowedHosts }: Webhook): string | undefined {
  const { protocol, hostname, host } = new URL(url);
  if (allowedHosts.includes(hostname) || allowedHosts.includes(host)) return undefined;
  if (protocol !== 'https:') return 'only https is allowed';
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) && !isPublicAddress(address) ? 'private addresses are not allowed' : undefined;
}

/**
 * Posts JSON to a webhook: over TLS, at public addresses only, checked in the very lookup the connection uses. Redirects are not
 * followed. Tries again where that may help; the result is why it did not work.
 */
export async function sendWebhook(webhook: Webhook, body: object, signal: AbortSignal): Promise<string | undefined> {
  const refusal = findWebhookFault(webhook);
  if (refusal) return refusal;
  for (const pauseMs of [...pausesMs, 0]) {
    const { fault, isFinal } = await post(webhook, body, signal);
    if (fault === undefined || isFinal || pauseMs === 0 || signal.aborted) return fault;
    await wait(pauseMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}

async function post({ url, allowedHosts }: Webhook, body: object, closing: AbortSignal) {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(attemptMs)]);
  const { host, hostname } = new URL(url);
  const isAllowed = allowedHosts.includes(hostname) || allowedHosts.includes(host);
  const agent = new Agent(isAllowed ? {} : { connect: { lookup: guardLookup(createHostLookup({ signal })) } });
  try {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, {
      ...{ method: 'POST', headers, body: JSON.stringify(body), redirect: 'manual', dispatcher: agent, signal },
    });
    const { status } = answer;
    // Nobody reads the answer; an endless one ends here.
    await answer.body?.cancel();
    if (status >= 200 && status < 300) return { fault: undefined, isFinal: true };
    return { fault: `it answered ${status}`, isFinal: status < 500 && status !== 429 };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    return { fault: cause?.message ?? message, isFinal: false };
  } finally {
    await agent.destroy();
  }
}
