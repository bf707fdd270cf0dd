import { defineOraclePlugin, type OraclePlugin } from '@palaver/agent';
import { modelListSchema } from '@palaver/contract/internal';

/** `GET /models`: what a message may choose from. */
export function createModelsPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'models',
    version: '1.0.0',
    manifest: {
      title: 'Models',
      summary: 'Lists the language models.',
      whenToUse: [],
      category: 'core',
      visibility: 'silent',
      stability: 'stable',
    },
    getRoutes:
      ({ models }) =>
      (server) => {
        const schema = {
          tags: ['Models'],
          summary: 'The language models a message may choose',
          response: { 200: modelListSchema },
        };
        server.get('/models', { schema }, async () => models.list);
      },
    getAuthExcludedRoutes: () => [{ path: '/models', method: 'GET' }],
  });
}
