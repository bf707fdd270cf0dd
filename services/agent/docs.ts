import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { Server } from '@palaver/service-kit';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { RouteMatcher } from './auth/auth-hook.ts';

const description = `
Sessions, messages and streams of a conversational agent.

Protected routes take a user-signed UCAN invocation: \`Authorization: Bearer <invocation>\` together with
\`X-Auth-Type: ucan\`. A user-to-agent delegation in \`x-ucan-delegation\` goes along for calls downstream, and is
accepted alone as the fallback. \`npx palaver token --for URL\` makes one for trying things out.
`;

/** The one route that is there before the documentation is. */
const health = {
  get: {
    tags: ['Service'],
    summary: 'Health of the service',
    security: [],
    responses: { 200: { description: '`status` and `timestamp`' }, 503: { description: 'The database is away' } },
  },
};

/** `/docs`: all routes of this deployment, from the schemas that check them; plugin routes included. No CDN. */
export async function addDocs(
  server: Server,
  { title, version, isPublic }: { title: string; version: string; isPublic: RouteMatcher },
): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description },
      components: {
        securitySchemes: {
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
        },
      },
      security: [{ invocation: [], authType: [] }, { delegation: [] }],
      paths: { '/health': health },
    },
    transform(route) {
      const methods = [route.route.method].flat();
      const { schema, url } = jsonSchemaTransform(route);
      return { schema: methods.every((method) => isPublic(url, method)) ? { ...schema, security: [] } : schema, url };
    },
    transformObject: jsonSchemaTransformObject,
  });
  await server.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { deepLinking: true, tryItOutEnabled: true, persistAuthorization: false },
  });
}
