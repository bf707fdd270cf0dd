import { toGatewayAccess } from '@palaver/protocol/internal';
import { CloseStack, keepOpen } from '@palaver/service-kit';
import { startDatabaseClock } from '@palaver/store';
import type { ProgramServers } from './actions/http-actions.ts';
import { startActions } from './actions/start-actions.ts';
import { startCalls } from './calls/start-calls.ts';
import { startCatalog } from './catalog/start-catalog.ts';
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
  await using started = new CloseStack();
  const clock = await startDatabaseClock(parts.store);
  started.defer(() => clock.stop());
  const deployment = { ...parts, clock, started, access: toGatewayAccess(parts.config) };
  const people = { ...deployment, ...(await startPeople(deployment)) };
  const outgoing = { ...people, ...startOutgoing(people) };
  const claiming = await startClaims(deployment);
  started.defer(() => claiming?.stop());
  const actions = await startActions({ ...outgoing, claiming });
  const catalog = { ...outgoing, ...(await startCatalog({ ...outgoing, ...actions })) };
  const calls = startCalls({ ...catalog, ...actions });
  return { ...catalog, ...calls, ...startOperators(people), claiming, close: keepOpen(started) };
}
