// Each gives undefined if the other side answers, otherwise what was found in a sentence. No secret is in it.
import { type CheckNodeOptions, checkNode } from '@palaver/gateway/check-gateway';
import { createLogger } from '@palaver/service-kit';
import { fetchBounded, limitResponses, maskText, openRedis } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { checkCipher } from '@palaver/store/internal';

const timeoutMs = 3_000;

/** With the keys that its data may be encrypted with. */
export async function reachDatabase(url: string, dataKeys: readonly Uint8Array[]): Promise<string | undefined> {
  return failureOf(async () => {
    const store = await openStore(url, { waitMs: timeoutMs, dataKeys });
    await checkCipher(store).finally(() => store.close());
  });
}

export async function reachRedis(url: string): Promise<string | undefined> {
  return failureOf(async () => {
    const redis = await openRedis(url, createLogger({ name: 'doctor', level: 'silent' }));
    await redis.ping().finally(() => redis.disconnect());
  });
}

/** Any answer counts, even a refusal: the server is running. */
export async function reachHttp(url: string): Promise<string | undefined> {
  return failureOf(async () => {
    await (await limitResponses()(url, { signal: AbortSignal.timeout(timeoutMs) })).body?.cancel();
  });
}

/** Makes a call, as the gateway does: a port that takes connections may belong to something else. */
export async function reachNode(address: string, options: CheckNodeOptions): Promise<string | undefined> {
  return failureOf(async () => {
    const fault = await checkNode(address, options);
    if (fault !== undefined) throw new Error(fault);
  });
}

/** Asks the RPC of a node for its health. */
export async function reachRpc(url: string): Promise<string | undefined> {
  return failureOf(async () => {
    const { ok, status } = await fetchBounded(`${url.replace(/\/+$/, '')}/health`, { timeoutMs });
    if (!ok) throw new Error(`the RPC answers ${status}`);
  });
}

async function failureOf(attempt: () => Promise<void>): Promise<string | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    const { message, cause } = error as Error;
    return maskText(cause instanceof Error && cause.message ? `${message} (${cause.message})` : message);
  }
}
