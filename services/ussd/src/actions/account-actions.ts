import type { AuditAction } from '@palaver/contract/internal';
import type { AuditEvent, AuditLog } from '@palaver/store';
import type { Accounts, PinCheck } from '../accounts/accounts.ts';
import type { SimSwapCheck } from '../accounts/sim-swap.ts';
import type { Claims } from '../claims/claims.ts';
import type { ActionResult } from '../menu/engine.ts';
import type { QueryClient } from '../protocol/query-client.ts';
import type { Reports } from '../reports/reports.ts';
import type { Profiles } from '../session/profiles.ts';
import type { ClaimTable, UssdTables } from '../store/tables.ts';
import type { ActionContext, RunOf } from './action.ts';
import type { DefaultAction } from './default-signatures.ts';

export interface AccountActionParts {
  accounts: Accounts;
  reports: Reports;
  profiles: Profiles;
  protocol: QueryClient | undefined;
  /** Absent where reports do not become claims. */
  claims: Claims | undefined;
  audit: AuditLog<UssdTables>;
  /** Absent when no SIM swap check is configured. */
  simSwap: SimSwapCheck | undefined;
  /** A report with the same content within this time is the same report: its caller may have read "unavailable". */
  repeatMs: number;
}

const reportsShown = 10;

type AccountAction = Exclude<DefaultAction, 'openAssistant' | 'askAssistant' | 'showAnswer'>;

export function createAccountActions(parts: AccountActionParts): RunOf<AccountAction> {
  const { accounts, reports, profiles, protocol, claims, audit, simSwap, repeatMs } = parts;
  return {
    hasAccount: async ({ phoneNumber }) => ({ outcome: (await accounts.find(phoneNumber)) ? 'yes' : 'no' }),
    async register(context) {
      const name = context.answer('name');
      const input = { phone: context.phoneNumber, name, pin: context.answer('pin'), address: null };
      const { account, insert } = await accounts.prepare(input);
      const result = await context.commit(async (trx) => {
        if (!(await insert(trx))) return { outcome: 'exists' };
        await audit.record(toAuditEvent(audit, context, 'account.registered', { account: account.id }), trx);
        return { outcome: 'registered', account: account.id, values: { name } };
      });
      logAudit(context, result.outcome === 'registered' ? 'registration' : 'registration refused', result.account);
      return result;
    },
    logIn: (context) =>
      withPin({ accounts, audit, simSwap, context, answer: 'pin', action: 'login.succeeded' }, async (_, account) => ({
        outcome: 'in',
        account: account.id,
        values: { name: account.name },
      })),
    async logOut(context) {
      logAudit(context, 'logout', context.account);
      return context.commit(async (trx) => {
        await audit.record(toAuditEvent(audit, context, 'logout', { account: context.account ?? null }), trx);
        return { outcome: 'out', account: null };
      });
    },
    checkPin: (context) =>
      withPin({ accounts, audit, simSwap, context, answer: 'oldPin' }, async () => ({ outcome: 'right' })),
    async changePin(context) {
      const account = await accounts.find(context.phoneNumber);
      const record = account && (await accounts.hashNewPin(account, context.answer('pin')));
      return withPin(
        { accounts, audit, simSwap, context, answer: 'oldPin', action: 'pin.changed' },
        async (trx, holder) => {
          if (record === undefined) throw new Error('the account is gone');
          await accounts.setPin(trx, holder, record);
          return { outcome: 'changed' };
        },
      );
    },
    setLanguage: (context) =>
      context.commit(async (trx) => {
        const language = context.answer('language');
        await profiles.setLanguage(trx, context.phoneNumber, language);
        return { outcome: 'changed', language };
      }),
    async loadStatus(context) {
      requireLogin(context);
      const account = await accounts.find(context.phoneNumber);
      const count = await reports.countOf(context.phoneNumber);
      const balances = await describeHoldings(context, protocol, account?.address ?? null);
      return { outcome: 'shown', values: { name: account?.name ?? '', reports: String(count), balances } };
    },
    async listReports(context) {
      requireLogin(context);
      const rows = await reports.listOf(context.phoneNumber, reportsShown);
      const found = await claims?.find(rows.map(({ reference }) => toClaimSource(reference)));
      const lines = rows.map(({ created_at, activity, amount, reference }) => {
        const line = context.say('reports.line', {
          date: new Date(created_at).toISOString().slice(0, 10),
          label: context.say(`report.${activity}`),
          amount,
          reference,
        });
        const claim = found?.get(toClaimSource(reference));
        return claim ? `${line}, ${sayClaim(context, claim)}` : line;
      });
      return lines.length > 0 ? { outcome: 'shown', values: { list: lines.join('\n') } } : { outcome: 'none' };
    },
    fileReport: (context) =>
      withPin({ accounts, audit, simSwap, context, answer: 'pin', action: 'report.filed' }, async (trx, account) => {
        const [activity, amount] = [context.answer('activity'), context.answer('amount')];
        const unit = context.findAnswer('unit') ?? null;
        const report = { accountId: account.id, phone: context.phoneNumber, activity, amount, unit, now: context.now };
        const filed = repeatMs > 0 ? await reports.findSame(trx, report, context.now - repeatMs) : undefined;
        if (filed !== undefined) return { outcome: 'filed', hint: 'report.alreadyFiled', values: { reference: filed } };
        const reference = await reports.file(trx, report);
        const content = { activity, amount, reportedAt: new Date(context.now).toISOString() };
        const source = toClaimSource(reference);
        await claims?.add(trx, { source, phone: context.phoneNumber, content, now: context.now });
        return { outcome: 'filed', values: { reference } };
      }),
    describeReport: (context) =>
      context.commit(async (trx) => {
        const [place = null, date = null, note = null] = ['place', 'date', 'note'].map(context.findAnswer);
        const { phoneNumber: phone } = context;
        await reports.describe(trx, { reference: context.answer('reference'), phone, place, date, note });
        return { outcome: 'described' };
      }),
  };
}

type Trx = Parameters<Parameters<ActionContext['commit']>[0]>[0];
type Account = Extract<PinCheck, { kind: 'right' }>['account'];

interface PinQuestion {
  accounts: Accounts;
  audit: AuditLog<UssdTables>;
  simSwap: SimSwapCheck | undefined;
  context: ActionContext;
  /** The name the PIN was saved under. */
  answer: string;
  /** What is recorded of a right PIN; nothing when another step records it, or when it was done before. */
  action?: AuditAction;
}

/** Continues with `act` when the PIN is right; a wrong one is counted in the same transaction that records the outcome. */
async function withPin(
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
      if (action && done.hint === undefined)
        await audit.record(toAuditEvent(audit, context, action, toDetails(account.id, done)), trx);
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

function toDetails(account: string, { values }: ActionResult): AuditEvent['details'] {
  return { account, ...(values?.reference !== undefined && { reference: values.reference }) };
}

function toAuditEvent(
  audit: AuditLog<UssdTables>,
  { phoneNumber }: ActionContext,
  action: AuditAction,
  details: AuditEvent['details'],
): AuditEvent {
  const person = audit.person(phoneNumber);
  return { actor: person, action, subject: person, from: 'ussd', details };
}

/** The menus ask for the login; this holds for menus that forget to. */
function requireLogin({ account }: ActionContext): void {
  if (account === undefined) throw new Error('a state of this menu needs "requires: authenticated"');
}

/** One line for each thing an auditor asks about. Phone numbers are masked by the logger. */
function logAudit({ log, phoneNumber }: ActionContext, event: string, account: string | null | undefined): void {
  log.info({ audit: event, phoneNumber, account: account ?? undefined }, 'audit');
}

async function describeHoldings(
  { say, log }: ActionContext,
  protocol: QueryClient | undefined,
  address: string | null,
): Promise<string> {
  if (!protocol) return say('status.notConfigured');
  const sayUnreachable = (reason: string) => {
    log.warn({ reason }, 'the query gateway cannot be read');
    return say('status.unreachable');
  };
  if (address === null) {
    const fault = await protocol.findFault();
    return fault === undefined ? say('status.notLinked') : sayUnreachable(fault);
  }
  const { coins, claims, tokens } = await protocol.loadHoldings(address);
  const faults = [coins, claims, tokens].flatMap((part) => (part.ok ? [] : [part.reason]));
  if (faults.length === 3) return sayUnreachable(faults.join('; '));
  if (faults.length > 0) log.warn({ reason: faults.join('; ') }, 'a part of the holdings cannot be read');
  const sayMissing = (part: string) => sayOr(say, `status.${part}`, { otherwise: say('status.unreachable') });
  const lines: string[] = [];
  if (!coins.ok) lines.push(sayMissing('noBalanceNow'));
  else if (coins.value.length === 0) lines.push(say('status.noBalance'));
  else lines.push(say('status.balance', { amounts: coins.value.join(', ') }));
  if (!claims.ok) lines.push(sayMissing('noClaimsNow'));
  else lines.push(say('status.claims', toClaimCounts(claims.value)));
  if (!tokens.ok) lines.push(sayMissing('noTokensNow'));
  else if (tokens.value.length > 0) lines.push(say('status.tokens', { tokens: tokens.value.join(', ') }));
  return lines.join('\n');
}

const toClaimSource = (reference: string) => `report:${reference}`;

/** `12+` where there are more claims than could be looked through. */
function toClaimCounts({ total, approved, isComplete }: { total: number; approved: number; isComplete: boolean }) {
  const more = isComplete ? '' : '+';
  return { claims: `${total}${more}`, approved: `${approved}${more}` };
}

function sayClaim({ say }: ActionContext, { status, reward }: ClaimTable): string {
  return sayOr(say, `claim.${status}`, { otherwise: status, values: { reward: reward ?? '' } });
}

/** Locales that were written before these texts may lack them. */
function sayOr(
  say: ActionContext['say'],
  key: string,
  { otherwise, values }: { otherwise: string; values?: Record<string, string> },
): string {
  const text = say(key, values);
  return text === key ? otherwise : text;
}
