import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Registry } from 'prom-client';
import type { Operator, OperatorGuard, OperatorRole } from './operators.ts';
import type { FailedRequest, Told } from './request-log.ts';

/** A Fastify server whose routes take zod schemas. */
export type Server = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

declare module 'fastify' {
  interface FastifyInstance {
    metrics: Registry;
    /** The first segments of the routes of GET. */
    pages: ReadonlySet<string>;
    /** Lists a failure that the server's hooks do not see. */
    noteFailure(failed: FailedRequest, told?: Told): void;
    /** An `onRequest` hook for routes of operators: reading needs a viewer, everything else an operator. */
    operatorGuard: OperatorGuard;
    operatorGuardFor(role: OperatorRole): OperatorGuard;
  }
  interface FastifyContextConfig {
    /** Set for a route with an operator guard: it asks for an operator's token and nothing else. */
    forOperators?: boolean;
  }
  interface FastifyRequest {
    operator: Operator | null;
  }
}
