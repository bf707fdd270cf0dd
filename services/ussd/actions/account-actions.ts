import type { Accounts, PinCheck } from '../accounts/accounts.ts';
import type { ActionResult } from '../menu/engine.ts';
import type { QueryClient } from '../protocol/query-client.ts';
import type { Reports } from '../reports/reports.ts';
import type { Profiles } from '../session/profiles.ts';
import type { ActionContext, RunOf } from './action.ts';
import type { DefaultAction } from './default-signatures.ts';

export interface AccountActionParts {
  accounts: Accounts;
  reports: Reports;
  profiles: Profiles;
  protocol: QueryClient | undefined;
}

const reportsShown = 10;

type AccountAction = Exclude<DefaultAction, 'openAssistant' | 'askAssistant' | 'showAnswer'>;

export function createAccountActions(parts: AccountActionParts): RunOf<AccountAction> {
  const { accounts, reports, profiles, protocol } = parts;
  return {
    hasAccount: async ({ phoneNumber }) => ({ outcome: (await accounts.find(phoneNumber)) ? 'yes' : 'no' }),
    async register(context) {
      const name = context.answer('name');
      const input = { phone: context.phoneNumber, name, pin: context.answer('pin'), address: null };
      const { account, insert } = await accounts.prepare(input);
      const result = await context.commit(async (trx) =>
        (await insert(trx)) ? { outcome: 'registered', account: account.id, values: { name } } : { outcome: 'exists' },
      );
      audit(context, result.outcome === 'registered' ? 'registration' : 'registration refused', result.account);
      return result;
    },
    logIn: (context) =>
      withPin({ accounts, context, answer: 'pin' }, async (_, account) => ({
        outcome: 'in',
        account: account.id,
        values: { name: account.name },
      })),
    async logOut(context) {
      audit(context, 'logout', context.account);
      return { outcome: 'out', account: null };
    },
    checkPin: (context) => withPin({ accounts, context, answer: 'oldPin' }, async () => ({ outcome: 'right' })),
    async changePin(context) {
      const account = await accounts.find(context.phoneNumber);
      const record = account && (await accounts.hashNewPin(account, context.answer('pin')));
      return withPin({ accounts, context, answer: 'oldPin' }, async (trx, holder) => {
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
      const account = await accounts.find(context.phoneNumber);
      const count = await reports.countOf(context.phoneNumber);
      const balances = await describeHoldings(context, protocol, account?.address ?? null);
      return { outcome: 'shown', values: { name: account?.name ?? '', reports: String(count), balances } };
    },
    async listReports(context) {
      const rows = await reports.listOf(context.phoneNumber, reportsShown);
      const lines = rows.map(({ created_at, activity, amount, reference }) =>
        context.say('reports.line', {
          date: new Date(created_at).toISOString().slice(0, 10),
          label: context.say(`report.${activity}`),
          amount,
          reference,
        }),
      );
      return lines.length > 0 ? { outcome: 'shown', values: { list: lines.join('\n') } } : { outcome: 'none' };
    },
    fileReport: (context) =>
      withPin({ accounts, context, answer: 'pin' }, async (trx, account) => {
        const [activity, amount] = [context.answer('activity'), context.answer('amount')];
        const report = { accountId: account.id, phone: context.phoneNumber, activity, amount, now: context.now };
        return { outcome: 'filed', values: { reference: await reports.file(trx, report) } };
      }),
  };
}

type Trx = Parameters<Parameters<ActionContext['commit']>[0]>[0];
type Account = Extract<PinCheck, { kind: 'right' }>['account'];

interface PinQuestion {
  accounts: Accounts;
  context: ActionContext;
  /** The name the PIN was saved under. */
  answer: string;
}

/** Goes on with `act` when the PIN is right; a wrong one is counted in the same transaction that records the outcome. */
async function withPin(
  { accounts, context, answer }: PinQuestion,
  act: (trx: Trx, account: Account) => Promise<ActionResult>,
): Promise<ActionResult> {
  const account = await accounts.find(context.phoneNumber);
  if (!account) throw new Error('a PIN was asked for a number without an account');
  const checked = await accounts.checkPin(account, context.answer(answer));
  let event = '';
  const result = await context.commit(async (trx) => {
    const check = await accounts.countPin(trx, checked, Date.now());
    if (check.kind === 'right') {
      event = 'PIN accepted';
      return act(trx, check.account);
    }
    event = check.kind === 'wrong' ? 'PIN refused' : check.newly ? 'lockout' : 'PIN refused while locked';
    return check.kind === 'wrong'
      ? { outcome: 'wrong', values: { left: String(check.left) } }
      : { outcome: 'locked', values: { minutes: String(check.minutes) } };
  });
  audit(context, event === 'PIN accepted' && result.outcome === 'in' ? 'login' : event, account.id);
  return result;
}

/** One line for each thing an auditor asks about. Phone numbers are masked by the logger. */
function audit({ log, phoneNumber }: ActionContext, event: string, account: string | null | undefined): void {
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
  const result = await protocol.loadHoldings(address);
  if (!result.ok) return sayUnreachable(result.reason);
  const { coins, tokens, claims } = result.holdings;
  return [
    coins.length > 0 ? say('status.balance', { amounts: coins.join(', ') }) : say('status.noBalance'),
    say('status.claims', { claims: String(claims.total), approved: String(claims.approved) }),
    ...(tokens.length > 0 ? [say('status.tokens', { tokens: tokens.join(', ') })] : []),
  ].join('\n');
}
