import { createHash } from 'node:crypto';
import type { OraclePlugin, PluginContext } from '@palaver/agent';
import type { Server } from '@palaver/service-kit';
import { isUnchanged, toReply } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { defineDoor, sendRefusals } from '../define-door.ts';
import { answerCall } from './a2a-calls.ts';
import { A2aFault, refusalSchema, toFault, toFaultBody, toRefusalBody } from './a2a-faults.ts';

const version = '1.0';

const idSchema = z.union([z.string().max(255), z.number(), z.null()]);
const requestSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: idSchema.default(null),
  method: z.string(),
  params: z.unknown().optional(),
});

/** `/.well-known/agent-card.json` and the JSON-RPC route of A2A: a task is a run. */
export function createA2aDoor(): OraclePlugin {
  return defineDoor({
    name: 'a2a',
    title: 'A2A',
    toErrorBody: toRefusalBody,
    errorBody: refusalSchema,
    publicRoutes: [{ path: '/.well-known/agent-card.json', method: 'GET' }],
    addRoutes,
  });
}

function addRoutes(server: Server, ctx: PluginContext): void {
  const tags = ['A2A'];
  server.get(
    '/.well-known/agent-card.json',
    {
      schema: {
        tags,
        summary: 'The agent card of A2A',
        response: { 200: z.unknown().describe('The card'), 304: z.undefined().describe('Unchanged') },
      },
    },
    async (request, reply) => {
      const card = JSON.stringify(toCard(ctx.oracle.name, ctx.urlOf(request)));
      const etag = `"${createHash('sha256').update(card).digest('base64url')}"`;
      reply.headers({ etag, 'cache-control': 'public, max-age=3600' });
      if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(card);
    },
  );

  const schema = {
    tags,
    summary: 'JSON-RPC of A2A',
    body: requestSchema,
    response: {
      200: toReply('The result or the fault, or a stream of results', 'application/json', 'text/event-stream'),
    },
  };
  const options = { config: { bareBearer: true, refuses: sendRefusals }, attachValidation: true };
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const parsed = requestSchema.safeParse(request.body);
    if (!parsed.success) {
      const id = z.object({ id: idSchema }).safeParse(request.body).data?.id ?? null;
      const [issue] = parsed.error.issues;
      const fault = new A2aFault(
        'INVALID_REQUEST',
        `Not a JSON-RPC request: ${issue?.path.join('.')} ${issue?.message}`,
      );
      return reply.code(400).send(toFaultBody(fault, id));
    }
    const { id, method, params } = parsed.data;
    try {
      checkVersion(request, method);
      return await answerCall(ctx, { request, reply, requestId: id, method, params });
    } catch (error) {
      const fault = toFault(error);
      if (fault) return toFaultBody(fault, id);
      throw error;
    }
  };
  server.post('/a2a', { ...options, schema }, answer);
  // Clients that join a path to the address of the card add the slash.
  server.post('/a2a/', { ...options, schema: { ...schema, hide: true } }, answer);
}

/**
 * Without a version the name of the method says it: those of 0.3 have a slash. The specification reads no version as 0.3,
 * which would refuse every call that is written by hand.
 */
function checkVersion(request: FastifyRequest, method: string): void {
  const asked = request.headers['a2a-version'] ?? z.looseObject({}).parse(request.query)['A2A-Version'];
  if (asked === undefined ? !method.includes('/') : /^1\.0(?:\.\d+)?$/.test(String(asked).trim())) return;
  throw new A2aFault('VERSION_NOT_SUPPORTED', `This interface has version ${version} of A2A only.`);
}

function toCard(name: string, url: string) {
  return {
    name,
    description: `${name}, an agent that answers in conversations.`,
    version: '1',
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: version }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'chat', name: 'Chat', description: 'Answers questions and uses its tools.', tags: ['chat'] }],
    securitySchemes: { ucan: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'UCAN' } } },
    securityRequirements: [{ schemes: { ucan: { list: [] } } }],
  };
}
