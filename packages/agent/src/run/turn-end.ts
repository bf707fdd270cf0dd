import type { TurnEnd } from '../plugins/middleware.ts';
import type { Turn } from './turn.ts';

const refused: Pick<TurnEnd, 'runId' | 'status' | 'usage' | 'usageByModel'> = {
  runId: undefined,
  status: 'refused',
  usage: { inputTokens: 0, outputTokens: 0 },
  usageByModel: {},
};

/** How a turn ended, for plugins; of one that could not begin, that it was refused. */
export function toTurnEnd(
  { sendId, user, session, model }: Turn,
  end: Pick<TurnEnd, 'runId' | 'status' | 'usage' | 'usageByModel'> = refused,
): TurnEnd {
  return { sendId, userDid: user.did, sessionId: session.sessionId, model, ...end };
}
