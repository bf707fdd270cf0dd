import type { Dialect } from './dialect.ts';
import { isForm, readBody } from './read-body.ts';

/**
 * The dialect of the specification, which is also Africa's Talking's: a form or JSON with the accumulated text, a plain
 * text reply. Extra fields (`networkCode`) are ignored.
 */
export const africasTalking: Dialect = {
  path: '/api/ussd',
  hasErrorBodies: true,
  read(contentType, body) {
    const fields = readBody(contentType, body);
    if (!fields) return undefined;
    const { sessionId, serviceCode, text } = fields;
    // In a form a plus that was not escaped reads as a blank, and no phone number begins with one.
    const phoneNumber =
      isForm(contentType) && typeof fields.phoneNumber === 'string' && /^ \d/.test(fields.phoneNumber)
        ? `+${fields.phoneNumber.slice(1)}`
        : fields.phoneNumber;
    return { sessionId, serviceCode, phoneNumber, text };
  },
  write: (_, reply) => ({ contentType: 'text/plain; charset=utf-8', body: reply }),
};
