import { defineOraclePlugin, type OraclePlugin } from '@palaver/agent';
import { modelListSchema } from '@palaver/contract/internal';
import { toSilentManifest } from '../plugin-parts.ts';

export function createModelsPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'models',
    version: '1.0.0',
    manifest: toSilentManifest('Models', 'Lists the language models.'),
    getRoutes: (ctx) => (server) => {
      const schema = {
        tags: ['Models'],
        summary: 'The language models a message may choose',
        response: { 200: modelListSchema },
      };
      server.get('/models', { schema }, async () => ctx.models.list);
    },
    getAuthExcludedRoutes: () => [{ path: '/models', method: 'GET' }],
  });
}
