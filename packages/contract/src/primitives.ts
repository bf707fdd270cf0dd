import { z } from 'zod';
import { agentLimits } from './limits.ts';
import { didPattern } from './patterns.ts';
import { isTimeZone } from './time-zone.ts';

export const timestampSchema = z.iso.datetime().meta({ id: 'Timestamp', description: 'A time in ISO 8601, UTC.' });

export const didSchema = z
  .string()
  .regex(didPattern, { error: 'must be a DID, for example did:key:z6Mk…' })
  .meta({ id: 'Did', description: 'A decentralised identifier.' });

export const timeZoneSchema = z
  .string()
  .refine(isTimeZone, { error: 'must be an IANA time zone name, for example Africa/Nairobi' })
  .meta({ id: 'TimeZone', description: 'An IANA time zone name.', examples: ['Africa/Nairobi'] });

/** A base64 CAR. Only its size is checked here; the verifier checks the content and has its own error codes. */
export const ucanTokenSchema = z
  .string()
  .min(1)
  .max(agentLimits.tokenCharacters)
  .meta({ id: 'UcanToken', description: 'A UCAN invocation or delegation as a base64 CAR archive.' });

export const jsonObjectSchema = z.record(z.string(), z.unknown());
