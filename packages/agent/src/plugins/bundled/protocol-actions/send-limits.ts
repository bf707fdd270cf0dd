import { StartError } from '@palaver/service-kit';
import { z } from 'zod';

/** What users may have sent in their names, in the smallest unit. */
export interface SendLimits {
  denom: string;
  perCall: bigint;
  perDay: bigint;
}

const coinPattern = /^([1-9]\d{0,30})([a-zA-Z][\w/]{1,127})$/;

export function envSendLimit(when: string) {
  return z
    .string()
    .regex(coinPattern, 'expected an amount such as 1000000uixo')
    .optional()
    .meta({
      description: `The most that the agent sends for a user in ${when}. Without SEND_LIMIT_PER_CALL and SEND_LIMIT_PER_DAY it sends nothing.`,
      example: '1000000uixo',
    });
}

/** Undefined if nothing can be sent. */
export function toSendLimits(call: string | undefined, day: string | undefined): SendLimits | undefined {
  if (call === undefined && day === undefined) return undefined;
  const [perCall, perDay] = [parse(call), parse(day)];
  if (!perCall || !perDay || perCall.denom !== perDay.denom)
    throw new StartError('SEND_LIMIT_PER_CALL and SEND_LIMIT_PER_DAY: set both, in the same coin');
  return { denom: perCall.denom, perCall: perCall.amount, perDay: perDay.amount };
}

function parse(text: string | undefined): { amount: bigint; denom: string } | undefined {
  const [, amount, denom] = coinPattern.exec(text ?? '') ?? [];
  return amount && denom ? { amount: BigInt(amount), denom } : undefined;
}
