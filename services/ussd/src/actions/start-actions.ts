import type { RunningClaims } from '../money/start-claims.ts';
import type { Outgoing } from '../outgoing/start-outgoing.ts';
import type { People } from '../people/start-people.ts';
import type { Deployment } from '../store/deployment.ts';
import { createRecordStore, createReports } from '../store/records.ts';
import { createAccountActions } from './account-actions.ts';
import { type Actions, type DeclaredAction, loadOwnActions, type RunOf } from './action.ts';
import { createAssistantActions } from './assistant-actions.ts';
import { type DefaultAction, defaultSignatures } from './default-signatures.ts';
import type { ProgramServers } from './http-actions.ts';
import { createBuiltInActions } from './perform-keywords.ts';
import { createPayoutActions, createWalletActions } from './wallet-actions.ts';

interface ActionsParts extends Deployment, People, Outgoing {
  claiming: RunningClaims | undefined;
  servers?: ProgramServers | undefined;
}

export type RunningActions = Awaited<ReturnType<typeof startActions>>;

export async function startActions({ config, store, claiming, ...parts }: ActionsParts) {
  const records = createRecordStore(store);
  const claims = claiming?.claims;
  const repeatMs = config.USSD_REPEAT_MINUTES * 60_000;
  const runs: RunOf<DefaultAction> = {
    ...createAccountActions({ ...parts, reports: createReports(records), claims, repeatMs }),
    ...createWalletActions(parts),
    ...createPayoutActions({ ...parts, payouts: claiming?.payouts }),
    ...createAssistantActions(parts),
  };
  const own = await loadOwnActions(config.USSD_ACTIONS);
  const bundled = Object.entries(defaultSignatures) as [DefaultAction, DeclaredAction][];
  const actions: Actions = {
    ...Object.fromEntries(bundled.map(([name, one]) => [name, { repeatable: true, ...one, run: runs[name] }])),
    ...own.actions,
  };
  const { askAssistant } = runs;
  const allowedHosts = config.USSD_HTTP_ALLOWED_HOSTS;
  return {
    actions,
    ownValidators: own.validators,
    runBuiltIn: createBuiltInActions({ ...parts, records, claims, askAssistant, allowedHosts }),
  };
}
