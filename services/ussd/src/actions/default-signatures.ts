import { noticeTexts } from '../accounts/notices.ts';
import type { DeclaredAction } from './action.ts';

/** A PIN may be refused for reasons that no outcome of its own tells. */
const pinTexts = ['hint.simSwapped', 'hint.lockedForGood'];

/** What menu files may ask of the default service's actions: enough to check a menu without a database. */
export const defaultSignatures = {
  hasAccount: { outcomes: ['yes', 'no'], finishes: false },
  register: { outcomes: ['registered', 'exists'], finishes: true, texts: noticeTexts },
  logIn: { outcomes: ['in', 'wrong', 'locked'], finishes: true, texts: [...pinTexts, ...noticeTexts] },
  logOut: { outcomes: ['out'], finishes: true },
  checkPin: { outcomes: ['right', 'wrong', 'locked'], finishes: false, texts: pinTexts },
  changePin: { outcomes: ['changed', 'wrong', 'locked'], finishes: true, texts: pinTexts },
  setLanguage: { outcomes: ['changed'], finishes: true },
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
  },
  listReports: { outcomes: ['shown', 'none'], finishes: false, texts: ['reports.line'] },
  fileReport: {
    outcomes: ['filed', 'wrong', 'locked'],
    finishes: true,
    texts: [...pinTexts, 'report.alreadyFiled'],
  },
  openAssistant: { outcomes: ['ready', 'waiting', 'unavailable'], finishes: false },
  askAssistant: { outcomes: ['answered', 'waiting', 'unavailable'], finishes: true },
  showAnswer: { outcomes: ['answered', 'waiting', 'unavailable'], finishes: true },
} as const satisfies Record<string, DeclaredAction>;

export type DefaultAction = keyof typeof defaultSignatures;
