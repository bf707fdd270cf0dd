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
import type { Programs } from '../catalog/programs.ts';
import type { Publishing } from '../catalog/publishing.ts';
import type { Adapter } from '../channel/adapter.ts';
import type { AgentPerson } from '../outgoing/agent-client.ts';
import type { Accounts } from '../people/accounts.ts';
import type { PersonData } from '../people/person-data.ts';
import { isExpired, isOpen } from '../store/session-row.ts';
import { maxListed, type SessionStore } from '../store/session-store.ts';
import type { SessionTable } from '../store/tables.ts';
import {
  type AddressParts,
  addAddressRoutes,
  addCallerRoutes,
  addPersonDataRoutes,
  type CallerRouteParts,
} from './caller-routes.ts';
import { addListRoutes, type ListParts } from './list-routes.ts';
import { addProgramRoutes } from './program-routes.ts';
import {
  addProgramStatsRoute,
  addResultRoutes,
  type ProgramStatsParts,
  type ResultRouteParts,
} from './result-routes.ts';
import { showCallersTo } from './show-rows.ts';

export interface OperatorParts extends AddressParts, ProgramStatsParts, ResultRouteParts, CallerRouteParts, ListParts {
  accounts: Accounts;
  sessions: SessionStore;
  programs: Pick<Programs, 'find'>;
  publishing: Publishing;
  adapters: readonly Adapter[];
  timeoutMs: number;
  personData: PersonData;
  agentPerson: AgentPerson | undefined;
}

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

    typed.get(
      '/api/ussd/debug/:sessionId',
      { schema: { params: ussdSessionParamsSchema, response: { 200: ussdDebugRecordSchema } } },
      async ({ params, operator }) => {
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
      },
    );

    typed.get('/api/ussd/sessions', { schema: { response: { 200: ussdSessionsRecordSchema } } }, async (request) => {
      const now = parts.clock.now();
      const activeSessions = await listActive(request, now);
      // Only a full list may not be all of them.
      const isWhole = activeSessions.length < maxListed;
      return { activeSessions, count: isWhole ? activeSessions.length : await sessions.countActive(now) };
    });

    addListRoutes(typed, parts);
    addProgramRoutes(typed, parts.publishing, parts.adapters);
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
