import type { OraclePlugin } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { z } from 'zod';
import { defineDoor } from '../define-door.ts';
import { addChatCompletions } from './chat-completions.ts';
import { checkModel, openAiErrorSchema, toOpenAiError } from './openai-run.ts';
import { addResponses } from './responses.ts';

/** `/v1/models`, `/v1/chat/completions` and `/v1/responses` of OpenAI. */
export function createOpenAiDoor(): OraclePlugin {
  return defineDoor({
    name: 'openai',
    title: 'OpenAI',
    toErrorBody: toOpenAiError,
    errorBody: openAiErrorSchema,
    addRoutes(server, ctx) {
      const tags = ['OpenAI'];
      const config = { bareBearer: true };
      const toModel = (id: string) => ({ id, object: 'model', created: 0, owned_by: ctx.oracle.name });
      const listSchema = { tags, summary: 'Models as OpenAI lists them' };
      server.get('/v1/models', { config, schema: listSchema }, async () => ({
        object: 'list',
        data: ctx.models.list.models.map(({ id }) => toModel(id)),
      }));
      const params = z.object({ model: z.string() });
      const modelSchema = { tags, summary: 'A model as OpenAI shows it', params };
      server.get('/v1/models/:model', { config, schema: modelSchema }, async ({ params: { model } }) => {
        checkModel(ctx, model);
        return toModel(model);
      });
      server.route({
        // Preflights are answered as everywhere.
        method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
        url: '/v1/*',
        config,
        schema: { hide: true },
        // Before the body is read: it may have a type that no route accepts.
        onRequest: async ({ method, url }) => {
          throw new AppError('NOT_FOUND', `There is no ${method} ${new URL(url, 'http://agent').pathname} here.`);
        },
        handler: async () => {},
      });
      addChatCompletions(server, ctx);
      addResponses(server, ctx);
    },
  });
}
