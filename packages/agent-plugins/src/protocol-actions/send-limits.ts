import { type Coin, envCoin } from '@palaver/protocol/internal';
import { StartError } from '@palaver/service-kit';

/** What users may have sent in their names, in the smallest unit. */
export interface SendLimits {
  denom: string;
  perCall: bigint;
  perDay: bigint;
}

export function envSendLimit(when: string) {
  return envCoin('1000000uixo')
    .optional()
    .meta({
      description: `The most that the agent sends for a user in ${when}. Without SEND_LIMIT_PER_CALL and SEND_LIMIT_PER_DAY it sends nothing.`,
      example: '1000000uixo',
    });
}

/** Undefined if nothing can be sent. */
export function toSendLimits(perCall: Coin | undefined, perDay: Coin | undefined): SendLimits | undefined {
  if (perCall === undefined && perDay === undefined) return undefined;
  if (!perCall || !perDay || perCall.denom !== perDay.denom)
    throw new StartError('SEND_LIMIT_PER_CALL and SEND_LIMIT_PER_DAY: set both, in the same coin');
  return { denom: perCall.denom, perCall: perCall.amount, perDay: perDay.amount };
}
