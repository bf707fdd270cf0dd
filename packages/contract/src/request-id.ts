import { requestIdMaxCharacters } from './limits.ts';

/** Begins the ids of what the console looks up for its reader, which operators do not need among the recent errors. */
export const lookUpPrefix = 'look-up-';

const requestIdPattern = /^[\x20-\x7e]+$/;

/** Whether a received `x-request-id` is taken over; anything else is replaced by a generated one. */
export function isRequestId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= requestIdMaxCharacters && requestIdPattern.test(value);
}
