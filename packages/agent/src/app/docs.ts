import { agentLimits } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { addApiDocs } from '@palaver/service-kit/internal';
import type { RouteMatcher } from '../auth/auth-hook.ts';

const description = `
Sessions, messages and streams of a conversational agent.

Protected routes take a user-signed UCAN invocation: \`Authorization: Bearer <invocation>\` together with
\`X-Auth-Type: ucan\`. A user-to-agent delegation in \`x-ucan-delegation\` goes along for calls downstream, and is
accepted alone as the fallback. \`npx palaver token --for URL\` makes one for trying things out.

A user has at most ${agentLimits.repliesPerUser} requests that are being answered at a time, streams included, and a client address a share of all. Beyond
that the reply is 429 \`LIMIT_REACHED\` with \`Retry-After\`.
`;

const securitySchemes = {
  invocation: {
    type: 'http',
    scheme: 'bearer',
    description: 'UCAN invocation as a base64 CAR; with `X-Auth-Type: ucan`.',
  },
  authType: { type: 'apiKey', in: 'header', name: 'X-Auth-Type', description: '`ucan`' },
  delegation: {
    type: 'apiKey',
    in: 'header',
    name: 'x-ucan-delegation',
    description: 'UCAN delegation as a base64 CAR.',
  },
};

/** `/docs`: all routes of this deployment, plugin routes included. */
export function addDocs(
  server: Server,
  options: { title: string; version: string; isPublic: RouteMatcher },
): Promise<void> {
  const security: Record<string, string[]>[] = [{ invocation: [], authType: [] }, { delegation: [] }];
  return addApiDocs(server, { ...options, description, securitySchemes, security });
}
