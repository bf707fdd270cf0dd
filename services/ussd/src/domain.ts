import { toGatewayAccess } from '@palaver/protocol/internal';
import { CloseStack, keepOpen } from '@palaver/service-kit';
import { startDatabaseClock } from '@palaver/store';
import type { ProgramServers } from './actions/http-actions.ts';
import { startActions } from './actions/start-actions.ts';
import { startCalls } from './calls/start-calls.ts';
import { startCatalog } from './catalog/start-catalog.ts';
import { createInputLog } from './channel/input-log.ts';
import { createLongTexts } from './channel/long-texts.ts';
import { startClaims } from './money/start-claims.ts';
import { startOperators } from './operators/start-operators.ts';
import { startOutgoing } from './outgoing/start-outgoing.ts';
import { startPeople } from './people/start-people.ts';
import type { Deployment } from './store/deployment.ts';

export interface DomainParts extends Omit<Deployment, 'clock' | 'access' | 'started'> {
  servers?: ProgramServers | undefined;
}

/** From the lowest folder to the highest. Everything that starts here ends with `close`. */
export async function createDomain(parts: DomainParts) {
  const { config, store, keys, servers } = parts;
  await using started = new CloseStack();
  const clock = await startDatabaseClock(store);
  started.defer(() => clock.stop());
  const shared = { ...parts, servers, clock, started, access: toGatewayAccess(config) };
  const { secret, ...people } = await startPeople(shared);
  const outgoing = startOutgoing({ ...shared, secret, agent: servers?.agent });
  const claiming = await startClaims(shared);
  started.defer(() => claiming?.stop());
  const actions = await startActions({ ...shared, ...people, ...outgoing, claiming });
  const catalog = await startCatalog({ ...shared, ...outgoing, ...actions, audit: people.audit });
  const calls = startCalls({ ...shared, ...people, ...outgoing, ...actions, ...catalog });
  return {
    ...people,
    ...outgoing,
    ...catalog,
    ...calls,
    ...startOperators({ ...shared, ...people }),
    claiming,
    store,
    clock,
    inputLog: createInputLog(store, { ...calls, keys, clock, textHash: people.textHash }),
    joinParts: createLongTexts({ store, keys, clock, textHash: people.textHash }),
    close: keepOpen(started),
  };
}
