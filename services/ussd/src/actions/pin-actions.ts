import type { AuditAction } from '@palaver/contract/internal';
import type { ActionResult } from '@palaver/program/internal';
import type { AuditEvent } from '@palaver/store';
import type { Accounts, PinCheck } from '../people/accounts.ts';
import type { SimSwapCheck } from '../people/sim-swap.ts';
import type { AccountTable, Trx, UssdAudit } from '../store/tables.ts';
import type { ActionContext } from './action.ts';

type Account = Extract<PinCheck, { kind: 'right' }>['account'];

export interface PinParts {
  accounts: Accounts;
  audit: UssdAudit;
  simSwap: SimSwapCheck | undefined;
}

interface PinQuestion extends PinParts {
  context: ActionContext;
  answer: string;
  /** The audit event of a right PIN, unless another step records it. */
  action?: AuditAction;
}

/** A wrong PIN is counted in the same transaction that records the outcome. */
export async function withPin(
  { accounts, audit, simSwap, context, answer, action }: PinQuestion,
  act: (trx: Trx, account: Account) => Promise<ActionResult>,
): Promise<ActionResult> {
  const account = await accounts.find(context.phoneNumber);
  if (!account) throw new Error('a PIN was asked for a number without an account');
  if ((await simSwap?.(context.phoneNumber, context.log)) === 'vetoed') {
    logAudit(context, 'PIN refused by the SIM swap check', account.id);
    return context.commit(async (trx) => {
      const details = { account: account.id, reason: 'sim swapped' };
      await audit.record(toAuditEvent(audit, context, 'login.refused', details), trx);
      return { outcome: 'locked', hint: 'hint.simSwapped' };
    });
  }
  const checked = await accounts.checkPin(account, context.answer(answer));
  let event = '';
  const result = await context.commit(async (trx) => {
    const check = await accounts.countPin(trx, checked);
    if (check.kind === 'right') {
      event = 'PIN accepted';
      const done = await act(trx, check.account);
      if (action && done.hint === undefined) {
        const reference = done.values?.reference;
        const details = { account: account.id, ...(reference !== undefined && { reference }) };
        await audit.record(toAuditEvent(audit, context, action, details), trx);
      }
      return done;
    }
    const refusal = check.kind === 'locked' && check.newly ? 'login.locked' : 'login.refused';
    await audit.record(toAuditEvent(audit, context, refusal, { account: account.id, reason: check.kind }), trx);
    event = check.kind === 'wrong' ? 'PIN refused' : check.newly ? 'lockout' : 'PIN refused while locked';
    return check.kind === 'wrong'
      ? { outcome: 'wrong', values: { left: String(check.left) } }
      : check.forGood
        ? { outcome: 'locked', hint: 'hint.lockedForGood' }
        : { outcome: 'locked', values: { minutes: String(check.minutes) } };
  });
  logAudit(context, event === 'PIN accepted' && result.outcome === 'in' ? 'login' : event, account.id);
  return result;
}

export function toAuditEvent(
  audit: UssdAudit,
  { phoneNumber }: ActionContext,
  action: AuditAction,
  details: AuditEvent['details'],
): AuditEvent {
  const person = audit.person(phoneNumber);
  return { actor: person, action, subject: person, from: 'ussd', details };
}

/** The bundled menus ask for the login; this check is for menus that do not. */
export function requireLogin({ account }: ActionContext): void {
  if (account === undefined) throw new Error('a state of this menu needs "requires: authenticated"');
}

export async function findOwnAccount(accounts: Accounts, context: ActionContext): Promise<AccountTable> {
  requireLogin(context);
  const account = await accounts.find(context.phoneNumber);
  if (!account) throw new Error('the account is gone');
  return account;
}

/** One log line for each event that an auditor asks about. The logger masks phone numbers. */
export function logAudit({ log, phoneNumber }: ActionContext, event: string, account: string | null | undefined): void {
  log.info({ audit: event, phoneNumber, account: account ?? undefined }, 'audit');
}

/** Locales that were written before these texts may lack them. */
export function sayOr(
  say: ActionContext['say'],
  key: string,
  { otherwise, values }: { otherwise: string; values?: Record<string, string> },
): string {
  const text = say(key, values);
  return text === key ? otherwise : text;
}
