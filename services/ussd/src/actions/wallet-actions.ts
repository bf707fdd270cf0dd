import type { AuditLog } from '@palaver/store';
import type { QueryClient } from '../outgoing/query-client.ts';
import { type Accounts, shorten } from '../people/accounts.ts';
import type { Links } from '../people/links.ts';
import type { SimSwapCheck } from '../people/sim-swap.ts';
import type { UssdTables } from '../store/tables.ts';
import type { RunOf } from './action.ts';
import { findOwnAccount, requireLogin, sayOr, toAuditEvent, withPin } from './pin-actions.ts';

export interface WalletActionParts {
  accounts: Accounts;
  audit: AuditLog<UssdTables>;
  simSwap: SimSwapCheck | undefined;
  links: Links;
  protocol: QueryClient | undefined;
}

const claimsShown = 5;

/** A wallet that belongs to the account: linking it, and what it has claimed. */
export function createWalletActions(parts: WalletActionParts): RunOf<'findWallet' | 'linkWallet' | 'listClaims'> {
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
  };
}
