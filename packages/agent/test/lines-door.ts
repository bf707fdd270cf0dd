import { Readable } from 'node:stream';
import { z } from 'zod';
import { type AgentRun, defineOraclePlugin, type OraclePlugin } from '../src/index.ts';

const bodySchema = z.object({ thread: z.string(), text: z.string() });

async function* toLines(run: AgentRun, after = 0) {
  for await (const event of run.events({ after })) yield `${JSON.stringify(event)}\n`;
}

/** The smallest door: a run as lines of JSON. */
export function createLinesDoor(): OraclePlugin {
  return defineOraclePlugin({
    name: 'lines',
    version: '1.0.0',
    manifest: { title: 'Lines', summary: 'Lines.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getRoutes: (ctx) => (server) => {
      const config = { bareBearer: true, refuses: [402, 404, 409] };
      const response = { 200: { description: 'Events', content: { '*/*': { schema: z.unknown() } } } };
      server.post('/lines', { config, schema: { body: bodySchema, response } }, async (request, reply) => {
        const { thread, text } = request.body;
        const sender = ctx.senderOf(request, reply);
        const { sessionId } = await ctx.sessions.findOrCreate(sender.userDid, thread);
        const body = { message: text, stream: true, returnAllMessages: false };
        const run = await ctx.open({ ...sender, sessionId, body });
        return reply
          .header('x-run-id', run.runId)
          .type('application/x-ndjson')
          .send(Readable.from(toLines(run)));
      });
      const params = z.object({ runId: z.string() });
      const querystring = z.object({ after: z.coerce.number().default(0) });
      server.get('/lines/:runId', { config, schema: { params, querystring, response } }, async (request, reply) => {
        const { userDid } = ctx.senderOf(request, reply);
        const run = await ctx.resume({ userDid, runId: request.params.runId });
        return reply.type('application/x-ndjson').send(Readable.from(toLines(run, request.query.after)));
      });
      server.delete('/lines/:runId', { config, schema: { params } }, async (request, reply) => {
        const { userDid } = ctx.senderOf(request, reply);
        const run = await ctx.resume({ userDid, runId: request.params.runId });
        const aborted = await run.abort();
        return { aborted, answer: await run.answer() };
      });
    },
  });
}
