import type { OraclePlugin } from '../../plugins/plugin.ts';
import { defineDoor } from '../define-door.ts';
import { addChatCompletions } from './chat-completions.ts';
import { toOpenAiError } from './openai-error.ts';
import { addResponses } from './responses.ts';

/** `/v1/models`, `/v1/chat/completions` and `/v1/responses` of OpenAI. */
export function createOpenAiDoor(): OraclePlugin {
  return defineDoor({
    name: 'openai',
    title: 'OpenAI',
    toErrorBody: toOpenAiError,
    addRoutes(server, ctx) {
      const schema = { tags: ['OpenAI'], summary: 'Models as OpenAI lists them' };
      server.get('/v1/models', { config: { bareBearer: true }, schema }, async () => ({
        object: 'list',
        data: ctx.models.list.models.map(({ id }) => ({ id, object: 'model', created: 0, owned_by: ctx.oracle.name })),
      }));
      addChatCompletions(server, ctx);
      addResponses(server, ctx);
    },
  });
}
