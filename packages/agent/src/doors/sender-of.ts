import { AppError } from '@palaver/contract';
import { timeZoneSchema } from '@palaver/contract/internal';
import { setRateHeaders } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { identityOf } from '../auth/auth-hook.ts';
import type { ClientKey } from '../auth/client-key.ts';
import type { Sender } from '../define/agent-run.ts';

/** A time zone of the message itself wins over the header. */
export type SenderOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  body?: { timezone?: string | undefined },
) => Sender;

/** Who sends a message by a request, the same on every door. */
export function createSenderOf(clientKey: ClientKey): SenderOf {
  return (request, reply, body) => {
    const { did, delegation } = identityOf(request);
    return {
      userDid: did,
      requestId: request.id,
      delegation: delegation?.token,
      timezone: body?.timezone ?? readTimeZone(request),
      secrets: {
        matrixAccessToken: headerOf(request, 'x-matrix-access-token'),
        matrixHomeserver: headerOf(request, 'x-matrix-homeserver'),
      },
      client: clientKey(request),
      socketId: readSocketId(request),
      onCounted(standing) {
        if (standing) setRateHeaders(reply, standing);
      },
    };
  };
}

/** One that cannot be a socket's id is ignored: it only says which tab gets calls first. */
function readSocketId(request: FastifyRequest): string | undefined {
  const id = headerOf(request, 'x-socket-id');
  return id && /^[\w-]{1,64}$/.test(id) ? id : undefined;
}

function readTimeZone(request: FastifyRequest): string | undefined {
  const zone = headerOf(request, 'x-timezone');
  if (zone === undefined || timeZoneSchema.safeParse(zone).success) return zone;
  const issues = [{ path: 'x-timezone', message: 'must be an IANA time zone name, for example Africa/Nairobi' }];
  throw new AppError('VALIDATION_FAILED', `x-timezone: "${zone.slice(0, 60)}" is not a time zone.`, {
    details: { issues },
  });
}

export function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return (Array.isArray(value) ? value[0] : value) || undefined;
}
