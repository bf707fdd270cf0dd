import {
  defineOraclePlugin,
  holdSession,
  identityOf,
  type OraclePlugin,
  type RuntimeContext,
  ToolError,
  tablesOf,
  tool,
} from '@palaver/agent';
import {
  findLanguageTag,
  type SetUserPreferences,
  setUserPreferencesSchema,
  toLanguageTag,
  type UserPreferences,
  userPreferencesReplySchema,
  userPreferencesSchema,
} from '@palaver/contract/internal';
import { describeRoutes } from '@palaver/service-kit/internal';
import { personalTables, type SealedTable, type Store } from '@palaver/store';
import { sql } from 'kysely';
import { toFirstSchema, toManifest } from '../plugin-parts.ts';

interface PreferencesDatabase {
  agent_preferences: { room_id: string; record: string; updated_at: number };
}

const sealedPreferences: SealedTable = { table: 'agent_preferences', key: ['room_id'], sealed: ['record'] };

const migrations = toFirstSchema([
  sql`create table agent_preferences (
    room_id text primary key, record text not null, updated_at bigint not null)`,
]);

const summary = 'Keeps how this user wants to be answered: tone, length, format, language, what to call each other.';

export function createUserPreferences(): OraclePlugin {
  let preferences: ReturnType<typeof createPreferenceStore>;

  return defineOraclePlugin({
    name: 'user-preferences',
    version: '1.0.0',
    manifest: toManifest('User preferences', summary, {
      whenToUse: ['the user asks you to change how you answer from now on'],
      whenNotToUse: ['a preference for one answer only', 'facts about the user, which belong to memory'],
      examples: [{ user: 'Please always answer in French', tool: 'set_user_preferences' }],
      tags: ['preferences', 'language', 'tone'],
    }),
    tables: tablesOf<PreferencesDatabase>(),
    migrations,
    personalData: personalTables([
      { table: 'agent_preferences', sealed: sealedPreferences, where: ({ roomId }) => sql`room_id = ${roomId}` },
    ]),
    async setup({ store }) {
      preferences = createPreferenceStore(store);
    },
    getTools: () => ({
      set_user_preferences: tool({
        description:
          'Saves how the user wants to be answered from now on. Give only what changes; null clears a preference. Not for a single answer, not for facts about the user.',
        inputSchema: setUserPreferencesSchema,
        execute: (change, { session }) => preferences.change(session, change),
      }),
    }),
    async getPromptSection(rt) {
      const record = await preferences.find(rt.session.roomId);
      // Indented, so that what the user wrote cannot pass for a line of its own.
      const entries = lines.flatMap(([key, label]) =>
        record[key] === undefined ? [] : [`- ${label}: ${record[key].replaceAll('\n', '\n  ')}`],
      );
      return entries.length > 0 ? `Preferences of this user:\n${entries.join('\n')}` : undefined;
    },
    getRoutes: (ctx) => (server) => {
      const response = { 200: userPreferencesReplySchema };
      const schema = describeRoutes('Preferences')('How the user wants to be answered', { response });
      server.get('/user-preferences', { schema }, async (request) => ({
        preferences: await preferences.find(ctx.roomOf(identityOf(request).did)),
      }));
    },
  });
}

const lines: [keyof UserPreferences, string][] = [
  ['agentName', 'The user calls you'],
  ['userName', 'Call the user'],
  ['language', 'Answer in'],
  ['tone', 'Tone'],
  ['length', 'Answer length'],
  ['format', 'Format'],
  ['formality', 'Formality'],
  ['customInstructions', 'Also'],
];

function createPreferenceStore(store: Store<PreferencesDatabase>) {
  const findRow = store.prepare((db, room: { id: string }) =>
    db.selectFrom('agent_preferences').select('record').where('room_id', '=', room.id),
  );

  async function find(roomId: string, trx?: Parameters<typeof findRow>[1]): Promise<UserPreferences> {
    const [row] = (await findRow({ id: roomId }, trx)).rows;
    if (!row) return {};
    const { record } = store.cipher.openRow(sealedPreferences, { room_id: roomId, ...row }, { record: '{}' });
    return userPreferencesSchema.parse(JSON.parse(record));
  }

  return {
    find: (roomId: string) => find(roomId),
    /** Merges a change in; two changes at once both hold. */
    change: ({ id, roomId }: RuntimeContext['session'], change: SetUserPreferences) =>
      store.transaction(async (trx) => {
        await holdSession(trx, id);
        const now = new Date();
        const next = { ...merge(await find(roomId, trx), change), updatedAt: now.toISOString() };
        const plain = { room_id: roomId, record: JSON.stringify(next), updated_at: now.getTime() };
        const row = store.cipher.sealRow(sealedPreferences, plain);
        const insertion = trx.insertInto('agent_preferences').values(row);
        await insertion.onConflict((conflict) => conflict.column('room_id').doUpdateSet(row)).execute();
        return next;
      }),
  };
}

function merge(record: UserPreferences, { language, ...change }: SetUserPreferences): UserPreferences {
  const tag = typeof language === 'string' ? (findLanguageTag(language) ?? toLanguageTag(language)) : language;
  if (typeof language === 'string' && tag === undefined)
    throw new ToolError('TOOL_FAILED', `"${language}" is not a language I know; give a BCP 47 tag such as fr`);
  const given = Object.entries({ ...change, language: tag }).filter(([, value]) => value !== undefined);
  const entries = Object.entries({ ...record, ...Object.fromEntries(given) });
  return userPreferencesSchema.parse(Object.fromEntries(entries.filter(([, value]) => value !== null)));
}
