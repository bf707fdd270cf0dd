import { defineOraclePlugin, identityOf, type PluginContext, ToolError, tablesOf, tool } from '@palaver/agent';
import { z } from 'zod';

interface Tables {
  harvest: { user_did: string; crop: string; kilograms: number };
}

/** State per user, given to the model in the prompt; a protected route; a rule around another tool. */
export const harvestDiary = defineOraclePlugin({
  name: 'harvest-diary',
  version: '1.0.0',
  manifest: {
    title: 'Harvest diary',
    summary: 'Keeps what the user has harvested.',
    whenToUse: ['the user has harvested something', 'the user asks what they have harvested'],
    whenNotToUse: ['prices'],
    visibility: 'always',
    stability: 'stable',
  },
  tables: tablesOf<Tables>(),
  setup: ({ store }) =>
    store.migrate('harvest-diary', [
      {
        name: '001-harvest',
        async up(db) {
          await db.schema
            .createTable('harvest')
            .addColumn('user_did', 'text', (column) => column.notNull())
            .addColumn('crop', 'text', (column) => column.notNull())
            .addColumn('kilograms', 'integer', (column) => column.notNull())
            .execute();
        },
      },
    ]),
  getTools: ({ store }) => ({
    record_harvest: tool({
      description: 'Writes a harvest into the diary',
      inputSchema: z.object({ crop: z.string().min(1).max(40), kilograms: z.int().positive() }),
      async execute({ crop, kilograms }, { user }) {
        await store.db.insertInto('harvest').values({ user_did: user.did, crop, kilograms }).execute();
        return { recorded: `${kilograms} kg of ${crop}` };
      },
    }),
    list_harvests: tool({
      description: 'Everything in the diary',
      inputSchema: z.object({}),
      execute: (_args, { user }) => listHarvests(store, user.did),
    }),
  }),
  getMiddlewares: () => [
    {
      async wrapToolCall(call, next) {
        if (call.toolName === 'record_harvest' && Number(call.args.kilograms) > 10_000)
          throw new ToolError('TOOL_FAILED', 'more than ten tonnes in one go: ask the user whether that is right');
        return next(call);
      },
    },
  ],
  getRoutes:
    ({ store }) =>
    (server) => {
      const schema = { tags: ['Harvest'], summary: "The caller's harvests" };
      server.get('/harvests', { schema }, async (request) => listHarvests(store, identityOf(request).did));
    },
});

async function listHarvests({ db }: PluginContext<unknown, Tables>['store'], did: string) {
  const rows = await db.selectFrom('harvest').select(['crop', 'kilograms']).where('user_did', '=', did).execute();
  return { harvests: rows };
}
