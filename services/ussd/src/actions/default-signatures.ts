import { noticeTexts } from '../accounts/notices.ts';
import type { DeclaredAction } from './action.ts';

/** A PIN may be refused for reasons that no outcome of its own tells. */
const pinTexts = ['hint.simSwapped', 'hint.lockedForGood'];

/** What a refused PIN says. */
const pinValues = { left: 'integer', minutes: 'integer' } as const;

/** What menu files may ask of the default service's actions: enough to check a menu without a database. */
export const defaultSignatures = {
  hasAccount: { outcomes: ['yes', 'no'], finishes: false, values: {} },
  register: {
    outcomes: ['registered', 'exists'],
    finishes: true,
    texts: noticeTexts,
    values: { name: 'text', date: 'date' },
  },
  logIn: {
    outcomes: ['in', 'wrong', 'locked'],
    finishes: true,
    texts: [...pinTexts, ...noticeTexts],
    values: { name: 'text', ...pinValues },
  },
  logOut: { outcomes: ['out'], finishes: true, values: {} },
  checkPin: { outcomes: ['right', 'wrong', 'locked'], finishes: false, texts: pinTexts, values: pinValues },
  changePin: { outcomes: ['changed', 'wrong', 'locked'], finishes: true, texts: pinTexts, values: pinValues },
  setLanguage: { outcomes: ['changed'], finishes: true, values: {} },
  loadStatus: {
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
    values: { name: 'text', reports: 'integer', balances: 'text' },
  },
  listReports: { outcomes: ['shown', 'none'], finishes: false, texts: ['reports.line'], values: { list: 'text' } },
  fileReport: {
    outcomes: ['filed', 'wrong', 'locked'],
    finishes: true,
    texts: [...pinTexts, 'report.alreadyFiled'],
    values: { reference: 'text', ...pinValues },
  },
  describeReport: { outcomes: ['described'], finishes: true, values: {} },
  openAssistant: { outcomes: ['ready', 'waiting', 'unavailable'], finishes: false, values: {} },
  askAssistant: { outcomes: ['answered', 'waiting', 'unavailable'], finishes: true, values: { answer: 'text' } },
  showAnswer: { outcomes: ['answered', 'waiting', 'unavailable'], finishes: true, values: { answer: 'text' } },
} as const satisfies Record<string, DeclaredAction>;

export type DefaultAction = keyof typeof defaultSignatures;
