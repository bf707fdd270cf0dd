import { AppError } from '@palaver/contract';
import {
  type UssdDebugRecord,
  ussdDebugRecordSchema,
  ussdSessionParamsSchema,
  ussdSessionsRecordSchema,
  visibleAsciiPattern,
} from '@palaver/contract/internal';
import type { Menu } from '@palaver/program/internal';
import type { Server } from '@palaver/service-kit';
import { addAuditRoute, type ZodTypeProvider } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';
import { unpackDialogue, unpackOpening } from '../calls/session.ts';
import { isExpired, isOpen } from '../store/session-row.ts';
import { maxListed } from '../store/session-store.ts';
import type { SessionTable } from '../store/tables.ts';
import { addAddressRoutes, addCallerRoutes, addPersonDataRoutes } from './caller-routes.ts';
import { addListRoutes } from './list-routes.ts';
import { addProgramRoutes } from './program-routes.ts';
import { addProgramStatsRoute, addResultRoutes } from './result-routes.ts';
import { showCallersTo } from './show-rows.ts';
import type { OperatorParts } from './start-operators.ts';

/** The rate limit of the scope is checked before the guard: refused requests count too. */
export async function addOperatorRoutes(server: Server, parts: OperatorParts): Promise<void> {
  const { sessions, timeoutMs } = parts;
  await server.register(async (scope) => {
    scope.addHook('onRequest', scope.operatorGuard);
    const typed = scope.withTypeProvider<ZodTypeProvider>();
    /** Some telecom gateways make the number a part of the id. */
    const listActive = async ({ operator }: Pick<FastifyRequest, 'operator'>, now: number) => {
      const show = showCallersTo(operator);
      return (await sessions.listActive(now)).map(({ id, phone }) => show({ id, phoneNumber: phone }).id);
    };

    const debug = { params: ussdSessionParamsSchema, response: { 200: ussdDebugRecordSchema } };
    typed.get('/api/ussd/debug/:sessionId', { schema: debug }, async ({ params, operator }) => {
      const now = parts.clock.now();
      // An id that no gateway could have sent is unknown; PostgreSQL rejects some of them.
      const session = visibleAsciiPattern.test(params.sessionId) ? await sessions.load(params.sessionId) : undefined;
      if (!session || !isOpen(session) || isExpired(session, now, timeoutMs))
        throw new AppError('SESSION_NOT_FOUND', 'There is no active session with this id.');
      const { program } = unpackOpening(session.opening);
      const menu = program === undefined ? undefined : await parts.programs.find(program);
      const caller = { phoneNumber: session.phone, reply: session.reply };
      const { phoneNumber: phone, reply } = showCallersTo(operator)(caller);
      return toDebugRecord({ ...session, phone, reply }, await listActive({ operator }, now), menu);
    });

    typed.get('/api/ussd/sessions', { schema: { response: { 200: ussdSessionsRecordSchema } } }, async (request) => {
      const now = parts.clock.now();
      const activeSessions = await listActive(request, now);
      // Only a full list may not be all of them.
      const isWhole = activeSessions.length < maxListed;
      return { activeSessions, count: isWhole ? activeSessions.length : await sessions.countActive(now) };
    });

    addListRoutes(typed, parts);
    addProgramRoutes(typed, parts);
    addProgramStatsRoute(typed, parts);
    addResultRoutes(typed, parts);
    addAuditRoute(typed, { path: '/api/ussd/audit', audit: parts.audit });
    addPersonDataRoutes(typed, parts);

    addAddressRoutes(typed, parts);
    addCallerRoutes(typed, parts);
  });
}

function toDebugRecord(session: SessionTable, activeSessions: string[], menu: Menu | undefined): UssdDebugRecord {
  const dialogue = unpackDialogue(session.dialogue);
  if (!dialogue) throw new AppError('SESSION_NOT_FOUND', 'The session was stored by a newer version of the service.');
  const state = menu?.states.get(dialogue.state);
  return {
    sessionId: session.id,
    debugInfo: {
      state: dialogue.state,
      status: 'active',
      context: {
        sessionId: session.id,
        phoneNumber: session.phone,
        serviceCode: session.service_code,
        message: session.reply.slice(4),
        isAuthenticated: dialogue.account !== undefined,
        asksSecret: state?.kind === 'prompt' && state.secret,
        language: dialogue.language,
        startedAt: new Date(session.opened_at).toISOString(),
        lastSeenAt: new Date(session.seen_at).toISOString(),
      },
    },
    activeSessions,
  };
}
