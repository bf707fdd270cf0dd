import { defineOraclePlugin, type OraclePlugin } from '@palaver/agent';
import { modelListSchema } from '@palaver/contract/internal';
import { describeRoutes } from '@palaver/service-kit/internal';
import { toManifest } from '../plugin-parts.ts';

export function createModelsPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'models',
    version: '1.0.0',
    manifest: toManifest('Models', 'Lists the language models.'),
    getRoutes: (ctx) => (server) => {
      const response = { 200: modelListSchema };
      const schema = describeRoutes('Models')('The language models a message may choose', { response });
      server.get('/models', { schema }, async () => ctx.models.list);
    },
    getAuthExcludedRoutes: () => [{ path: '/models', method: 'GET' }],
  });
}
