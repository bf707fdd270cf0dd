import type { Server } from '@palaver/service-kit';
import { addApiDocs } from '@palaver/service-kit/internal';

const description = `
What operators read and change: sessions, callers, programs and their results, messages, claims.

Routes take \`Authorization: Bearer <token>\`: \`OPERATOR_TOKEN\`, or the token of a named operator, whose role decides
what it may do. Without \`OPERATOR_TOKEN\` they answer only to this machine. The session endpoint of telecom gateways is
described in the guide.
`;

const api = '/api/ussd';

const summaries = {
  'GET /': 'Landing',
  [`GET ${api}/debug/:sessionId`]: 'An active session',
  [`GET ${api}/sessions`]: 'The ids of active sessions',
  [`GET ${api}/reports`]: 'Reports of activities',
  [`GET ${api}/records`]: 'Kinds of records of programs',
  [`GET ${api}/records/:program/:kind`]: 'Records of a program',
  [`POST ${api}/submissions/retry`]: 'Send failed submissions again (admins)',
  [`GET ${api}/submissions`]: 'Completed forms',
  [`GET ${api}/submissions/:instanceId`]: 'A completed form as XML',
  [`GET ${api}/sms`]: 'SMS messages, without their texts',
  [`POST ${api}/push`]: 'Start a program at a phone (admins)',
  [`POST ${api}/sms/retry`]: 'Send failed SMS messages again (admins)',
  [`GET ${api}/programs`]: 'Programs',
  [`GET ${api}/programs/:name/draft`]: 'The draft of a program',
  [`PUT ${api}/programs/:name/draft`]: 'Save the draft of a program',
  [`DELETE ${api}/programs/:name/draft`]: 'Delete the draft of a program',
  [`POST ${api}/programs/:name/check`]: 'Check a program',
  [`POST ${api}/programs/:name/convert-form`]: 'Convert an XLSForm',
  [`POST ${api}/programs/:name/try`]: 'Try a program with inputs',
  [`POST ${api}/programs/:name/publish`]: 'Publish a program (admins)',
  [`GET ${api}/programs/:name/versions`]: 'The versions of a program',
  [`GET ${api}/programs/:name/versions/:version`]: 'The files of a version',
  [`POST ${api}/programs/:name/rollback`]: 'Go back to a version (admins)',
  [`POST ${api}/programs/:name/withdraw`]: 'Withdraw a program (admins)',
  [`GET ${api}/programs/:name/stats`]: 'How callers move through a program',
  [`GET ${api}/programs/:program/results`]: 'What a program has collected',
  [`GET ${api}/programs/:program/results/:source/:name`]: 'Results',
  [`GET ${api}/programs/:program/results/:source/:name/summary`]: 'A summary of results',
  [`GET ${api}/programs/:program/results/:source/:name/export`]: 'Results as a file (operators)',
  [`GET ${api}/users/:phoneNumber/export`]: 'Everything kept of a phone number (admins)',
  [`DELETE ${api}/users/:phoneNumber`]: 'Erase everything kept of a phone number (admins)',
  [`PUT ${api}/accounts/:phoneNumber/address`]: 'Set the address that an account is paid to (admins)',
  [`POST ${api}/accounts/:phoneNumber/unlock`]: 'Unlock an account',
  [`POST ${api}/accounts/:phoneNumber/reset-pin`]: 'Give an account a new PIN (admins)',
  [`GET ${api}/address-changes`]: 'Changes of addresses that wait for a second admin (admins)',
  [`POST ${api}/address-changes/:id/approve`]: 'Approve a change of an address (admins)',
  [`DELETE ${api}/address-changes/:id`]: 'Refuse a change of an address (admins)',
  [`GET ${api}/callers`]: 'Recent callers, with masked numbers',
  [`POST ${api}/callers/find`]: 'A caller',
  [`POST ${api}/callers/reveal`]: 'The number of a caller',
  [`GET ${api}/links`]: 'The audience of invocations that link a wallet',
  [`POST ${api}/links`]: 'A code that links a wallet to a phone number',
  [`POST ${api}/claims/process`]: 'Process claims now',
  [`GET ${api}/claims`]: 'Claims',
  [`POST ${api}/claims/:id/retry`]: 'Send a failed claim again',
};

export function addUssdDocs(server: Server): Promise<void> {
  return addApiDocs(server, {
    title: 'USSD gateway',
    version: '1',
    description,
    securitySchemes: {},
    security: [{ operator: [] }],
    isPublic: (url) => !url.startsWith(api) || url === `${api}/links`,
    summaries,
  });
}
