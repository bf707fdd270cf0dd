// Each gives undefined if the other side answers, otherwise what was found in a sentence. No secret is in it.
import { once } from 'node:events';
import { connect } from 'node:net';
import { createLogger } from '@palaver/service-kit';
import { maskText, openRedis } from '@palaver/service-kit/internal';
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
    await (await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })).body?.cancel();
  });
}

export async function reachHost(address: string): Promise<string | undefined> {
  return failureOf(async () => {
    const { hostname, port } = new URL(`tcp://${address}`);
    const socket = connect({ host: hostname, port: Number(port), timeout: timeoutMs });
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    await once(socket, 'connect').finally(() => socket.destroy());
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
