import type { Logger } from '@palaver/service-kit';
import { fetchJson } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { Deployment } from '../store/deployment.ts';

export type SimSwapCheck = (phone: string, log: Logger) => Promise<'allowed' | 'vetoed'>;

/** A telecom gateway waits for about ten seconds, and the PIN's hash and the database come after this. */
const timeoutMs = 2_000;
/** The default of CAMARA. */
const maxAgeHours = 240;
const answerSchema = z.object({ swapped: z.boolean() });

/** Asks a server that speaks CAMARA's SIM Swap API (`POST …/check`), or any hook with the same two bodies. */
export function createSimSwapCheck({ config, metrics }: Deployment): SimSwapCheck | undefined {
  const { USSD_SIM_SWAP_URL: url, USSD_SIM_SWAP_TOKEN: token, USSD_SIM_SWAP_ON_FAULT: onFault } = config;
  if (url === undefined) return undefined;
  const count = metrics.countSimSwapCheck;
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return async (phoneNumber, log) => {
    const body = { phoneNumber, maxAge: maxAgeHours };
    const result = await fetchJson(url, { method: 'POST', timeoutMs, headers, body });
    const answer = answerSchema.safeParse(result.ok ? result.value : undefined);
    if (!answer.success) {
      const reason = result.ok ? 'the answer has no "swapped"' : result.reason;
      log.warn({ reason, onFault }, 'the SIM swap check gave no answer');
      count('failed');
      return onFault === 'allow' ? 'allowed' : 'vetoed';
    }
    count(answer.data.swapped ? 'swapped' : 'clear');
    return answer.data.swapped ? 'vetoed' : 'allowed';
  };
}
