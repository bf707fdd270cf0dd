import {
  defineOraclePlugin,
  identityOf,
  type OraclePlugin,
  ToolError,
  type Tools,
  tablesOf,
  tool,
} from '@palaver/agent';
import { AppError } from '@palaver/contract';
import {
  createMemorySchema,
  memoryDeletedSchema,
  memoryLimits,
  memoryListSchema,
  memoryParamsSchema,
  memoryQuerySchema,
  memorySchema,
} from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { describeRoutes } from '@palaver/service-kit/internal';
import { personalTables } from '@palaver/store';
import { convertOnce } from '@palaver/store/internal';
import type { FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { z } from 'zod';
import { toManifest } from '../plugin-parts.ts';
import {
  createMemoryStore,
  encryptMemories,
  type MemoryDatabase,
  type MemoryStore,
  memoryMigrations,
  sealedMemories,
} from './memory-store.ts';

const recalled = 20;
const inPrompt = 8;
const promptCharacters = 2_000;

const query = z.string().min(1).max(memoryLimits.queryCharacters);
// In place, without the name it has in the API's document: model providers take no references.
const rememberSchema = z.object(createMemorySchema.shape);
const recallSchema = z.object({ query: query.describe('Words to look for; the newest without them').optional() });
const forgetSchema = z
  .object({
    id: z.string().max(100).describe('The id of one memory').optional(),
    query: query.describe('Forgets everything that holds all of these words').optional(),
  })
  .refine(({ id, query }) => (id === undefined) !== (query === undefined), 'give either id or query');

export function createMemoryPlugin(): OraclePlugin {
  let memories: MemoryStore;

  return defineOraclePlugin({
    name: 'memory',
    version: '1.0.0',
    manifest: toManifest('Memory', 'Remembers facts about this user and things you made for them, across sessions.', {
      whenToUse: [
        'the user tells you something about themselves that will matter later, or asks you to remember it',
        'the user refers to something from another conversation',
        'the user asks what you know about them, or asks you to forget it',
      ],
      whenNotToUse: [
        'how the user wants to be answered, which belongs to preferences',
        'secrets such as PINs and keys',
      ],
      examples: [{ user: 'Remember that I keep goats', tool: 'remember' }],
      tags: ['memory', 'facts'],
    }),
    tables: tablesOf<MemoryDatabase>(),
    migrations: memoryMigrations,
    personalData: personalTables([
      {
        table: 'agent_memory',
        sealed: sealedMemories,
        omit: ['digest', 'words', 'lexemes'],
        where: ({ roomId }) => sql`room_id = ${roomId}`,
      },
    ]),
    async setup({ store }) {
      await convertOnce(store, 'memory', () => encryptMemories(store));
      memories = createMemoryStore(store);
    },
    getTools: () => createTools(memories),
    async getPromptSection(rt) {
      const total = await memories.count(rt.session.roomId);
      if (total === 0) return undefined;
      const relevant = await memories.find(rt.session.roomId, rt.message.message, inPrompt);
      const lines: string[] = [];
      let room = promptCharacters;
      for (const { text } of relevant) {
        room -= text.length;
        if (room < 0) break;
        lines.push(`- ${text.replaceAll('\n', '\n  ')}`);
      }
      const intro = `You remember ${total} ${total === 1 ? 'thing' : 'things'} about this user; recall finds them.`;
      return lines.length === 0 ? intro : `${intro} This may matter now:\n${lines.join('\n')}`;
    },
    getRoutes: (ctx) => (server) => addMemoryRoutes(server, memories, (request) => ctx.roomOf(identityOf(request).did)),
  });
}

function createTools(memories: MemoryStore): Tools {
  return {
    remember: tool({
      description:
        'Remembers one thing for later conversations, in plain words that can be understood alone. Not for how the user wants to be answered.',
      inputSchema: rememberSchema,
      async execute(memory, rt) {
        const kept = await memories.add(rt.session.roomId, memory, rt.session.id);
        if (kept) return kept;
        throw new ToolError('TOOL_FAILED', `the memory is full (${memoryLimits.count}); forget something first`);
      },
    }),
    recall: tool({
      description: 'Looks up what is remembered about this user.',
      repeatable: true,
      inputSchema: recallSchema,
      async execute({ query }, rt) {
        const page = await memories.list(rt.session.roomId, { query, limit: recalled, offset: 0 });
        return { memories: page.memories, total: page.total };
      },
    }),
    forget: tool({
      description: 'Forgets a memory for good, by its id or by words that it holds.',
      inputSchema: forgetSchema,
      async execute({ id, query }, rt) {
        const { roomId } = rt.session;
        const ids = id === undefined ? (await memories.findAll(roomId, query ?? '')).map((memory) => memory.id) : [id];
        return { forgotten: await memories.remove(roomId, ids) };
      },
    }),
  };
}

function addMemoryRoutes(server: Server, memories: MemoryStore, roomOf: (request: FastifyRequest) => string): void {
  const route = describeRoutes('Memory');
  const list = route('What the agent remembers', {
    querystring: memoryQuerySchema,
    response: { 200: memoryListSchema },
  });
  server.get('/memory', { schema: list }, async (request) => memories.list(roomOf(request), request.query));

  const add = route('Remember something', { body: createMemorySchema, response: { 201: memorySchema } });
  server.post('/memory', { config: { refuses: [409] }, schema: add }, async (request, reply) => {
    const memory = await memories.add(roomOf(request), request.body);
    if (!memory) throw new AppError('CONFLICT', `The memory is full: it holds ${memoryLimits.count} entries.`);
    return reply.status(201).send(memory);
  });

  const remove = route('Forget something', { params: memoryParamsSchema, response: { 200: memoryDeletedSchema } });
  server.delete('/memory/:id', { schema: remove }, async (request) => {
    const removed = await memories.remove(roomOf(request), [request.params.id]);
    if (removed === 0) throw new AppError('NOT_FOUND', 'There is no such memory.');
    return { ok: true as const };
  });
}
