import { noticeTexts } from '../store/notices.ts';
import { claimStatuses } from '../store/tables.ts';
import type { DeclaredAction } from './action.ts';

/** Why a PIN may be refused, where the action has no outcome for it. */
const pinTexts = ['hint.simSwapped', 'hint.lockedForGood'];

const pinValues = { left: 'integer', minutes: 'integer' } as const;

const paying = {
  outcomes: ['sent', 'notEnough', 'overLimit', 'notLinked', 'wrong', 'locked'],
  finishes: true,
  texts: [...pinTexts, 'wallet.notEnough', 'wallet.overLimit', 'wallet.notLinked'],
  values: { sum: 'text', reference: 'text', ...pinValues },
} as const;

const signatures = {
  hasAccount: {
    about: 'Whether the caller has an account.',
    outcomes: ['yes', 'no'],
  },
  register: {
    about: 'Registers the caller with a name and a PIN.',
    answers: ['name', 'pin'],
    outcomes: ['registered', 'exists'],
    finishes: true,
    texts: noticeTexts,
    values: { name: 'text', date: 'date' },
  },
  logIn: {
    about: 'Logs the caller in.',
    answers: ['pin'],
    outcomes: ['in', 'wrong', 'locked'],
    finishes: true,
    texts: [...pinTexts, ...noticeTexts],
    values: { name: 'text', ...pinValues },
  },
  logOut: {
    about: 'Logs the caller out.',
    outcomes: ['out'],
    finishes: true,
  },
  checkPin: {
    about: 'Checks the PIN before it is changed.',
    answers: ['oldPin'],
    outcomes: ['right', 'wrong', 'locked'],
    texts: pinTexts,
    values: pinValues,
  },
  changePin: {
    about: 'Changes the PIN.',
    answers: ['oldPin', 'pin'],
    outcomes: ['changed', 'wrong', 'locked'],
    finishes: true,
    texts: pinTexts,
    values: pinValues,
  },
  setLanguage: {
    about: 'Remembers the language of the caller.',
    answers: ['language'],
    outcomes: ['changed'],
    finishes: true,
  },
  loadStatus: {
    about: 'Reads balances, claims and the number of reports. Needs a login.',
    outcomes: ['shown'],
    texts: [
      'status.balance',
      'status.noBalance',
      'status.tokens',
      'status.claims',
      'status.unreachable',
      'status.notConfigured',
      'status.notLinked',
    ],
    optionalTexts: ['status.noBalanceNow', 'status.noClaimsNow', 'status.noTokensNow'],
    values: { name: 'text', reports: 'integer', balances: 'text' },
  },
  listReports: {
    about: 'Lists the ten newest reports of the caller. Needs a login.',
    outcomes: ['shown', 'none'],
    texts: ['reports.line'],
    optionalTexts: claimStatuses.map((status) => `claim.${status}`),
    values: { list: 'text' },
  },
  fileReport: {
    about: 'Files a report, signed with the PIN.',
    answers: ['activity', 'amount', 'pin', '[unit]'],
    outcomes: ['filed', 'wrong', 'locked'],
    finishes: true,
    texts: [...pinTexts, 'report.alreadyFiled'],
    values: { reference: 'text', ...pinValues },
  },
  describeReport: {
    about: 'Adds place, date and note to a report of the caller.',
    answers: ['reference', '[place]', '[date]', '[note]'],
    outcomes: ['described'],
    finishes: true,
  },
  findWallet: {
    about:
      'Finds the wallet whose page shows this code. Five codes and recipients together can be tried a day. Needs a login.',
    answers: ['code'],
    outcomes: ['found', 'unknown', 'tooMany'],
    values: { address: 'text' },
  },
  linkWallet: {
    about: 'Links the account to the wallet of a code, signed with the PIN. The code is used up.',
    answers: ['code', 'pin'],
    outcomes: ['linked', 'gone', 'wrong', 'locked'],
    finishes: true,
    texts: [...pinTexts, 'wallet.gone', 'notice.walletLinked'],
    values: { address: 'text', ...pinValues },
  },
  listClaims: {
    about: 'Lists the five newest claims of the linked wallet. Needs a login.',
    outcomes: ['shown', 'none', 'unavailable'],
    texts: ['wallet.claim'],
    values: { list: 'text' },
  },
  loadRewards: {
    about: 'Reads what the service keeps for the caller, and what of it can be paid out now. Needs a login.',
    outcomes: ['ready', 'nothing', 'notLinked', 'unavailable'],
    values: { rewards: 'text', sendable: 'text', address: 'text' },
  },
  findRecipient: {
    about:
      'Finds out whether another phone number has a linked wallet. Five codes and recipients together can be tried a day. Needs a login.',
    answers: ['recipient'],
    outcomes: ['found', 'unknown', 'nothing', 'tooMany', 'unavailable'],
    values: { sendable: 'text' },
  },
  payOut: {
    about: 'Pays rewards out to the linked wallet, signed with the PIN.',
    answers: ['amount', 'pin'],
    ...paying,
  },
  sendRewards: {
    about: 'Sends rewards to the wallet of another phone number, signed with the PIN.',
    answers: ['recipient', 'amount', 'pin'],
    ...paying,
  },
  listPayouts: {
    about: 'Lists the five newest payments of the caller. Needs a login.',
    outcomes: ['shown', 'none'],
    texts: ['wallet.payout', 'payout.sending', 'payout.sent', 'payout.failed'],
    optionalTexts: ['wallet.other'],
    values: { list: 'text' },
  },
  openAssistant: {
    about: 'Whether the assistant can be asked, or an answer waits.',
    outcomes: ['ready', 'waiting', 'unavailable'],
  },
  askAssistant: {
    about: 'Asks the assistant.',
    // Not repeatable: it stores and sends the question before its result is recorded.
    repeatable: false,
    answers: ['question'],
    outcomes: ['answered', 'waiting', 'unavailable'],
    finishes: true,
    values: { answer: 'text' },
  },
  showAnswer: {
    about: 'Shows an answer that was not ready in time.',
    outcomes: ['answered', 'waiting', 'unavailable'],
    finishes: true,
    values: { answer: 'text' },
  },
} as const satisfies Record<string, Partial<DeclaredAction> & Pick<DeclaredAction, 'outcomes'>>;

export type DefaultAction = keyof typeof signatures;

const nothing = { answers: [], finishes: false, values: {} };

/** What menu files may ask of the default service's actions: enough to check a menu without a database. */
export const defaultSignatures = Object.fromEntries(
  Object.entries(signatures).map(([name, signature]): [string, DeclaredAction] => [name, { ...nothing, ...signature }]),
) as Record<DefaultAction, DeclaredAction>;
