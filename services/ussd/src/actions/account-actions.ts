import type { Claims } from '../money/claims.ts';
import type { QueryClient } from '../outgoing/query-client.ts';
import type { Profiles } from '../people/profiles.ts';
import type { Reports } from '../store/records.ts';
import type { AccountTable, ClaimTable } from '../store/tables.ts';
import type { ActionContext, RunOf } from './action.ts';
import type { DefaultAction } from './default-signatures.ts';
import { logAudit, type PinParts, requireLogin, sayOr, toAuditEvent, withPin } from './pin-actions.ts';

export interface AccountActionParts extends PinParts {
  reports: Reports;
  profiles: Profiles;
  protocol: QueryClient | undefined;
  claims: Claims | undefined;
  /** A report with the same content within this time is the same report: its caller may have read "unavailable". */
  repeatMs: number;
}

const reportsShown = 10;

export function createAccountActions(parts: AccountActionParts) {
  const { accounts, reports, profiles, protocol, claims, audit, repeatMs } = parts;
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
      withPin({ ...parts, context, answer: 'pin', action: 'login.succeeded' }, async (_, account) => ({
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
    checkPin: (context) => withPin({ ...parts, context, answer: 'oldPin' }, async () => ({ outcome: 'right' })),
    async changePin(context) {
      const account = await accounts.find(context.phoneNumber);
      const record = account && (await accounts.hashNewPin(account, context.answer('pin')));
      return withPin({ ...parts, context, answer: 'oldPin', action: 'pin.changed' }, async (trx, holder) => {
        if (record === undefined) throw new Error('the account is gone');
        await accounts.setPin(trx, holder, record);
        return { outcome: 'changed' };
      });
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
      const balances = await describeHoldings(context, protocol, account);
      return { outcome: 'shown', values: { name: account?.name ?? '', reports: String(count), balances } };
    },
    async listReports(context) {
      requireLogin(context);
      const rows = await reports.listOf(context.phoneNumber, reportsShown);
      const found = await claims?.find(rows.map(({ reference }) => toClaimSource(reference)));
      const lines = rows.map(({ createdAt, type, amount, reference }) => {
        const line = context.say('reports.line', {
          date: createdAt.slice(0, 10),
          label: context.say(`report.${type}`),
          amount,
          reference,
        });
        const claim = found?.get(toClaimSource(reference));
        return claim ? `${line}, ${sayClaim(context, claim)}` : line;
      });
      return lines.length > 0 ? { outcome: 'shown', values: { list: lines.join('\n') } } : { outcome: 'none' };
    },
    fileReport: (context) =>
      withPin({ ...parts, context, answer: 'pin', action: 'report.filed' }, async (trx) => {
        const [activity, amount] = [context.answer('activity'), context.answer('amount')];
        const unit = context.findAnswer('unit') ?? null;
        const report = { phone: context.phoneNumber, type: activity, amount, unit, now: context.now };
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
  } satisfies Partial<RunOf<DefaultAction>>;
}

async function describeHoldings(
  { say, log }: ActionContext,
  protocol: QueryClient | undefined,
  account: AccountTable | undefined,
): Promise<string> {
  if (!protocol) return say('status.notConfigured');
  const sayUnreachable = (reason: string) => {
    log.warn({ reason }, 'the query gateway cannot be read');
    return say('status.unreachable');
  };
  const { address = null, did = null } = account ?? {};
  if (address === null) {
    const fault = await protocol.findFault();
    return fault === undefined ? say('status.notLinked') : sayUnreachable(fault);
  }
  const { coins, claims, tokens } = await protocol.loadHoldings({ address, did });
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

/** `12+` if there are more claims than were read. */
function toClaimCounts({ total, approved, isComplete }: { total: number; approved: number; isComplete: boolean }) {
  const more = isComplete ? '' : '+';
  return { claims: `${total}${more}`, approved: `${approved}${more}` };
}

function sayClaim({ say }: ActionContext, { status, reward }: ClaimTable): string {
  // The next round books an unclaimed reward to the account that is looking at it.
  return sayOr(say, `claim.${status === 'unclaimed' ? 'paid' : status}`, {
    otherwise: status,
    values: { reward: reward ?? '' },
  });
}
