import { noticeTexts } from '../store/notices.ts';
import { claimStatuses } from '../store/tables.ts';
import type { DeclaredAction } from './action.ts';

/** Why a PIN may be refused, where the action has no outcome for it. */
const pinTexts = ['hint.simSwapped', 'hint.lockedForGood'];

/** What a refused PIN says. */
const pinValues = { left: 'integer', minutes: 'integer' } as const;

const paying = {
  outcomes: ['sent', 'notEnough', 'overLimit', 'notLinked', 'wrong', 'locked'],
  finishes: true,
  texts: [...pinTexts, 'wallet.notEnough', 'wallet.overLimit', 'wallet.notLinked'],
  values: { sum: 'text', reference: 'text', ...pinValues },
} as const;

/** What menu files may ask of the default service's actions: enough to check a menu without a database. */
export const defaultSignatures = {
  hasAccount: {
    about: 'Whether the caller has an account.',
    answers: [],
    outcomes: ['yes', 'no'],
    finishes: false,
    values: {},
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
    answers: [],
    outcomes: ['out'],
    finishes: true,
    values: {},
  },
  checkPin: {
    about: 'Checks the PIN before it is changed.',
    answers: ['oldPin'],
    outcomes: ['right', 'wrong', 'locked'],
    finishes: false,
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
    values: {},
  },
  loadStatus: {
    about: 'Reads balances, claims and the number of reports. Needs a login.',
    answers: [],

    outcomes: ['shown'],
    finishes: false,
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
    answers: [],
    outcomes: ['shown', 'none'],
    finishes: false,
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
    values: {},
  },
  findWallet: {
    about:
      'Finds the wallet whose page shows this code. Five codes and recipients together can be tried a day. Needs a login.',
    answers: ['code'],
    outcomes: ['found', 'unknown', 'tooMany'],
    finishes: false,
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
    answers: [],
    outcomes: ['shown', 'none', 'unavailable'],
    finishes: false,
    texts: ['wallet.claim'],
    values: { list: 'text' },
  },
  loadRewards: {
    about: 'Reads what the service keeps for the caller, and what of it can be paid out now. Needs a login.',
    answers: [],
    outcomes: ['ready', 'nothing', 'notLinked', 'unavailable'],
    finishes: false,
    values: { rewards: 'text', sendable: 'text', address: 'text' },
  },
  findRecipient: {
    about:
      'Finds out whether another phone number has a linked wallet. Five codes and recipients together can be tried a day. Needs a login.',
    answers: ['recipient'],
    outcomes: ['found', 'unknown', 'nothing', 'tooMany', 'unavailable'],
    finishes: false,
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
    answers: [],
    outcomes: ['shown', 'none'],
    finishes: false,
    texts: ['wallet.payout', 'payout.sending', 'payout.sent', 'payout.failed'],
    optionalTexts: ['wallet.other'],
    values: { list: 'text' },
  },
  openAssistant: {
    about: 'Whether the assistant can be asked, or an answer waits.',
    answers: [],
    outcomes: ['ready', 'waiting', 'unavailable'],
    finishes: false,
    values: {},
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
    answers: [],
    outcomes: ['answered', 'waiting', 'unavailable'],
    finishes: true,
    values: { answer: 'text' },
  },
} as const satisfies Record<string, DeclaredAction>;

export type DefaultAction = keyof typeof defaultSignatures;
