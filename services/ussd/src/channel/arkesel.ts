import type { Dialect } from './dialect.ts';
import { readBody } from './read-body.ts';

/**
 * Arkesel's JSON: only the newest input comes, as `userData`; the first request carries the dialled code there. The reply
 * repeats the ids and says with `continueSession` whether the dialogue continues.
 */
export const arkesel: Dialect = {
  path: '/api/ussd/arkesel',
  read(contentType, body) {
    const fields = readBody(contentType, body);
    if (!fields) return undefined;
    const isFirst = fields.newSession === true || fields.newSession === 'true';
    const phoneNumber =
      typeof fields.msisdn === 'string' && /^\d+$/.test(fields.msisdn) ? `+${fields.msisdn}` : fields.msisdn;
    return {
      sessionId: fields.sessionID,
      phoneNumber,
      serviceCode: isFirst ? fields.userData : undefined,
      input: { value: isFirst ? '' : fields.userData, isFirst },
      echo: { sessionID: fields.sessionID, userID: fields.userID, msisdn: fields.msisdn },
    };
  },
  write: (request, reply) => ({
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify({ ...request?.echo, message: reply.slice(4), continueSession: reply.startsWith('CON ') }),
  }),
};
