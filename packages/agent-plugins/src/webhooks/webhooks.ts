import { defineOraclePlugin, type OraclePlugin, tablesOf } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { parseJson } from '@palaver/contract/internal';
import { envUrl, type Server } from '@palaver/service-kit';
import { addTextParser, describeRoutes } from '@palaver/service-kit/internal';
import { personalTables } from '@palaver/store';
import { sql } from 'kysely';
import { z } from 'zod';
import { toManifest } from '../plugin-parts.ts';
import { createSlackClient, isFromSlack, readMessage, slackRequestSchema } from './slack-api.ts';
import {
  createSlackConversations,
  createSlackStore,
  type SlackDatabase,
  slackMigrations,
} from './slack-conversations.ts';

const configSchema = z.object({
  SLACK_SIGNING_SECRET: z.string().min(8).meta({
    description: 'Signing secret of the Slack app; with SLACK_BOT_TOKEN it opens POST /webhooks/slack.',
    example: '8f742231b10e8888abcd99yyyzzz85a5',
    secret: true,
  }),
  SLACK_BOT_TOKEN: z.string().min(1).meta({
    description: 'Token of the Slack app’s bot user, with the scope chat:write.',
    example: 'xoxb-…',
    secret: true,
  }),
  SLACK_API_URL: envUrl('http:', 'https:')
    .prefault('https://slack.com/api')
    .meta({ description: 'Address of Slack’s web API.' }),
});

const path = '/webhooks/slack';

export function createWebhooksPlugin(): OraclePlugin {
  const active = new Set<Promise<void>>();
  return defineOraclePlugin({
    name: 'webhooks',
    version: '1.0.0',
    manifest: toManifest('Chat platforms', 'Answers people on Slack.', { category: 'integration' }),
    configSchema,
    autoDetect: (env) => Boolean(env.SLACK_SIGNING_SECRET && env.SLACK_BOT_TOKEN),
    autoDetectHint: 'set SLACK_SIGNING_SECRET and SLACK_BOT_TOKEN',
    tables: tablesOf<SlackDatabase>(),
    migrations: slackMigrations,
    personalData: personalTables([{ table: 'agent_slack_thread', where: ({ did }) => sql`user_did = ${did}` }]),
    getRoutes(ctx) {
      const { SLACK_SIGNING_SECRET, SLACK_API_URL, SLACK_BOT_TOKEN } = ctx.config;
      const store = createSlackStore(ctx.store);
      const client = createSlackClient({ apiUrl: SLACK_API_URL, token: SLACK_BOT_TOKEN });
      const answer = createSlackConversations(ctx, store, client);
      return (server) =>
        addSlackRoute(server, SLACK_SIGNING_SECRET, async ({ team_id: team, event_id: eventId, event }) => {
          const message = readMessage(event);
          if (!message || !(await store.takeEvent(eventId))) return;
          // Slack waits three seconds for the reply to its request; the agent may take longer.
          const work = answer(team, eventId, message).finally(() => active.delete(work));
          active.add(work);
        });
    },
    getAuthExcludedRoutes: () => [{ path, method: 'POST' }],
    async teardown() {
      await Promise.all(active);
    },
  });
}

type EventCallback = Extract<z.infer<typeof slackRequestSchema>, { type: 'event_callback' }>;

function addSlackRoute(server: Server, signingSecret: string, onEvent: (event: EventCallback) => Promise<void>): void {
  // The signature is over the bytes as they came; in this scope alone the body stays a text.
  server.removeContentTypeParser('application/json');
  addTextParser(server, 'application/json', (_request, body, done) => done(null, body));
  const description = 'Signed by Slack (`X-Slack-Signature`); no other credentials.';
  const schema = describeRoutes('Webhooks')('Events of Slack', { description });
  server.post(path, { schema, config: { refuses: [401] } }, async (request) => {
    const { headers } = request;
    const body = typeof request.body === 'string' ? request.body : '';
    const timestamp = headers['x-slack-request-timestamp']?.toString();
    const signature = headers['x-slack-signature']?.toString();
    if (!isFromSlack({ signingSecret, timestamp, signature, body }))
      throw new AppError('UNAUTHORIZED', 'The request is not signed by Slack, or it is too old.');
    const event = slackRequestSchema.safeParse(parseJson(body));
    // Unknown events are acknowledged too: Slack repeats those that are not.
    if (!event.success) return { ok: true };
    if (event.data.type === 'url_verification') return { challenge: event.data.challenge };
    await onEvent(event.data);
    return { ok: true };
  });
}
