import type { ActionResult } from '@palaver/program/internal';
import { formatCoin } from '@palaver/protocol/internal';
import { unreadableText } from '@palaver/store/internal';
import type { Payouts } from '../money/payouts.ts';
import type { QueryClient } from '../outgoing/query-client.ts';
import { shorten } from '../people/accounts.ts';
import type { Links } from '../people/links.ts';
import type { ActionContext, RunOf } from './action.ts';
import type { DefaultAction } from './default-signatures.ts';
import { findOwnAccount, type PinParts, requireLogin, sayOr, toAuditEvent, withPin } from './pin-actions.ts';

export interface WalletActionParts extends PinParts {
  links: Links;
  protocol: QueryClient | undefined;
}

const claimsShown = 5;

export function createWalletActions(parts: WalletActionParts) {
  const { accounts, audit, links, protocol } = parts;
  return {
    async findWallet(context) {
      const account = await findOwnAccount(accounts, context);
      const wallet = await links.find(context.answer('code'));
      return context.commit(async (trx) => {
        const isAllowed = await accounts.countLinkTry(trx, account.id);
        if (isAllowed && wallet) return { outcome: 'found', values: { address: shorten(wallet.address) } };
        const reason = isAllowed ? 'unknown code' : 'too many tries';
        await audit.record(toAuditEvent(audit, context, 'link.refused', { account: account.id, reason }), trx);
        return { outcome: isAllowed ? 'unknown' : 'tooMany' };
      });
    },
    linkWallet: (context) =>
      withPin({ ...parts, context, answer: 'pin', action: 'account.linked' }, async (trx, account) => {
        const wallet = await links.take(trx, context.answer('code'));
        if (!wallet) return { outcome: 'gone', hint: 'wallet.gone' };
        await accounts.link(trx, account, wallet);
        return { outcome: 'linked', values: { address: shorten(wallet.address) } };
      }),
    async listClaims(context) {
      requireLogin(context);
      const account = await accounts.find(context.phoneNumber);
      if (!protocol || !account?.address) return { outcome: 'none' };
      const { address, did } = account;
      const claims = await protocol.listClaims({ address, did });
      if (!claims.ok) {
        context.log.warn({ reason: claims.reason }, 'claims cannot be read from the query gateway');
        return { outcome: 'unavailable' };
      }
      const lines = claims.value.newest.slice(0, claimsShown).map(({ id, date, status }) => {
        const state = sayOr(context.say, `claim.${status}`, { otherwise: status, values: { reward: '' } }).trim();
        return context.say('wallet.claim', { date: date.slice(0, 10), id: id.slice(-6), state });
      });
      return lines.length === 0 ? { outcome: 'none' } : { outcome: 'shown', values: { list: lines.join('\n') } };
    },
  } satisfies Partial<RunOf<DefaultAction>>;
}

const payoutsShown = 5;

export function createPayoutActions(parts: PinParts & { payouts: Payouts | undefined }) {
  const { accounts, audit, payouts } = parts;
  const findOwn = (context: ActionContext) => findOwnAccount(accounts, context);

  /** The address is read before the PIN is checked and written down with the payment. */
  async function send(context: ActionContext, address: string | null | undefined): Promise<ActionResult> {
    const amount = payouts && toUnits(context.answer('amount'), payouts.denom);
    return withPin({ ...parts, context, answer: 'pin', action: 'payout.ordered' }, async (trx, { id: accountId }) => {
      if (!payouts || !isLinked(address)) return { outcome: 'notLinked', hint: 'wallet.notLinked' };
      if (amount === undefined) return { outcome: 'notEnough', hint: 'wallet.notEnough' };
      const sent = await payouts.send(trx, { accountId, address, amount, now: context.now });
      if (!sent.ok) return { outcome: sent.reason, hint: `wallet.${sent.reason}` };
      return { outcome: 'sent', values: { sum: formatUnits(amount, payouts.denom), reference: sent.id.slice(0, 8) } };
    });
  }

  return {
    async loadRewards(context) {
      const account = await findOwn(context);
      if (!payouts) return { outcome: 'unavailable' };
      if (!isLinked(account.address)) return { outcome: 'notLinked' };
      const { balance, sendable } = await payouts.balanceOf(account.id, context.now);
      const values = {
        rewards: formatUnits(balance, payouts.denom),
        sendable: formatUnits(sendable, payouts.denom),
        address: shorten(account.address),
      };
      return { outcome: sendable > 0 ? 'ready' : 'nothing', values };
    },
    async findRecipient(context) {
      const account = await findOwn(context);
      if (!payouts) return { outcome: 'unavailable' };
      const recipient = await accounts.find(context.answer('recipient'));
      const { sendable } = await payouts.balanceOf(account.id, context.now);
      const { denom } = payouts;
      return context.commit(async (trx) => {
        // This counts as a try: the outcome reveals whether a number has a wallet.
        if (!(await accounts.countLinkTry(trx, account.id))) {
          const details = { account: account.id, reason: 'too many tries' };
          await audit.record(toAuditEvent(audit, context, 'link.refused', details), trx);
          return { outcome: 'tooMany' };
        }
        if (!isLinked(recipient?.address) || recipient?.id === account.id) return { outcome: 'unknown' };
        return { outcome: sendable > 0 ? 'found' : 'nothing', values: { sendable: formatUnits(sendable, denom) } };
      });
    },
    payOut: async (context) => send(context, (await findOwn(context)).address),
    sendRewards: async (context) => send(context, (await accounts.find(context.answer('recipient')))?.address),
    async listPayouts(context) {
      const account = await findOwn(context);
      const rows = (await payouts?.list(account.id, payoutsShown)) ?? [];
      // The wallet of another person is not shown.
      const otherWallet = sayOr(context.say, 'wallet.other', { otherwise: '…' });
      const lines = rows.map(({ created_at, amount, denom, address, status }) =>
        context.say('wallet.payout', {
          date: new Date(created_at).toISOString().slice(0, 10),
          sum: formatUnits(amount, denom),
          address: address === account.address ? shorten(address) : otherWallet,
          state: context.say(`payout.${status}`),
        }),
      );
      return lines.length === 0 ? { outcome: 'none' } : { outcome: 'shown', values: { list: lines.join('\n') } };
    },
  } satisfies Partial<RunOf<DefaultAction>>;
}

/** An address that cannot be decrypted counts as missing. */
const isLinked = (address: string | null | undefined): address is string => !!address && address !== unreadableText;

const formatUnits = (amount: number | bigint, denom: string) => formatCoin({ denom, amount: String(amount) });

/** Converts a typed amount to the smallest unit of its coin: `2.5` IXO are 2500000 uixo. */
function toUnits(text: string, denom: string): number | undefined {
  if (!/^\d+(\.\d+)?$/.test(text)) return undefined;
  const places = /^u[a-z]{2,15}$/.test(denom) ? 6 : 0;
  const [whole = '', decimals = ''] = text.split('.');
  const units = Number(whole + decimals.padEnd(places, '0'));
  return decimals.length <= places && Number.isSafeInteger(units) ? units : undefined;
}
