import smpp, { addTLV } from 'smpp';
import { z } from 'zod';

export type SmppOptions = Exclude<ReturnType<typeof parseSmppLink>, string>;

const defaultPorts = { 'smpp:': 2775, 'smpps:': 3550 } as const;
const wholeNumber = (max: number) => z.coerce.number().int().min(1).max(max);

const parameters = z.strictObject({
  system_type: z.string().max(12).default(''),
  window: wholeNumber(1_000).default(10),
  per_second: wholeNumber(100_000).optional(),
  enquire_seconds: wholeNumber(3_600).default(30),
  session: z
    .string()
    .regex(/^(its_session_info|0x[0-9a-f]{4})$/i)
    .default('its_session_info'),
  last: z.enum(['response', 'notify']).default('response'),
});

/** `smpp://user:password@host:port?window=20`, or `smpps://` for TLS; a reason where it is neither. */
export function parseSmppLink(text: string) {
  if (!URL.canParse(text)) return 'expected smpp://user:password@host:port or smpps://…';
  const { protocol, hostname, port, username, password, searchParams } = new URL(text);
  if (protocol !== 'smpp:' && protocol !== 'smpps:') return 'expected smpp:// or smpps://';
  if (hostname === '' || username === '') return 'expected a host and a user (system_id)';
  const parsed = parameters.safeParse(Object.fromEntries(searchParams));
  if (!parsed.success)
    return parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'parameters'}: ${message}`).join('; ');
  const { system_type, window, per_second, enquire_seconds, session, last } = parsed.data;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? defaultPorts[protocol] : Number(port),
    isTls: protocol === 'smpps:',
    systemId: decodeURIComponent(username),
    password: decodeURIComponent(password),
    systemType: system_type,
    window,
    perSecond: per_second,
    enquireMs: enquire_seconds * 1_000,
    /** The field that identifies a USSD session: `its_session_info`, or a vendor's tag. */
    sessionField: toField(session.toLowerCase()),
    /** The USSD operation of a last screen. */
    lastOperation: last === 'response' ? 17 : 3,
  };
}

/** A vendor's tag is a field of its own once the library knows it. */
function toField(session: string): string {
  if (session === 'its_session_info') return session;
  addTLV(session, { id: Number(session), type: smpp.types.tlv.buffer });
  return session;
}
