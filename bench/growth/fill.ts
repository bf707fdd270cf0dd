import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

const now = Date.now();

async function write(databaseUrl: string, rows: number, toStatements: (numbers: string) => string[]): Promise<void> {
  if (databaseUrl.startsWith('file:')) {
    const numbers = `(with recursive list(n) as (select 1 union all select n + 1 from list where n < ${rows}) select n from list) as numbers`;
    const database = new DatabaseSync(databaseUrl.slice('file:'.length), { timeout: 60_000 });
    for (const statement of [...toStatements(numbers), 'analyze']) database.exec(statement);
    database.close();
    return;
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const numbers = `generate_series(1, ${rows}) as numbers(n)`;
  for (const statement of [...toStatements(numbers), 'vacuum analyze']) await client.query(statement);
  await client.end();
}

/** Records of one program, half of them a year old, each of another caller who has a profile and an ended session. */
export const fillUssd = (databaseUrl: string, rows: number) =>
  write(databaseUrl, rows, (numbers) => [
    `insert into ussd_record (id, program, kind, phone, fields, created_at)
      select 'r' || n, 'notes', 'note', '+2541' || (10000000 + n), '{"text":"maize"}', ${now} - (n % 2) * 31536000000 - n
      from ${numbers}`,
    `insert into ussd_profile (phone, language) select '+2541' || (10000000 + n), 'en' from ${numbers}`,
    `insert into ussd_session (id, phone, service_code, version, status, text_hash, text_length, opening, dialogue, reply,
        opened_at, seen_at)
      select 'full-' || n, '+2541' || (10000000 + n), '*384*1#', 3, 0, 'h' || n, 3, 'en', '{"f":1,"s":"ask","l":"en"}',
        'CON Write it down', ${now} - n, ${now} - n from ${numbers}`,
  ]);

/** A conversation of so many messages, and as many sessions of its user; sessions of others are ten times as many. */
export const fillAgent = (
  databaseUrl: string,
  { rows, did, sessionId }: { rows: number; did: string; sessionId: string },
) =>
  write(databaseUrl, rows, (numbers) => [
    `update agent_session set run_count = ${rows} where id = '${sessionId}'`,
    `insert into agent_run (id, session_id, user_did, request_id, message_id, instance, status, model, number, created_at, ended_at)
      select 'r' || n, '${sessionId}', '${did}', 'q', 'a' || n, 'one', 'complete', 'offline', n, ${now} - 1000000 + n, ${now} - 1000000 + n
      from ${numbers}`,
    ...['human', 'ai'].map(
      (type, index) =>
        `insert into agent_message (id, session_id, run_id, position, number, type, content, status, request_id, created_at)
          select '${type}' || n, '${sessionId}', 'r' || n, 'r' || n || ':${index}', 2 * n + ${index}, '${type}',
            'The goats eat grass, said person ' || n, 'complete', 'q', ${now} - 1000000 + n from ${numbers}`,
    ),
    ...[did, 'did:key:others'].map(
      (owner, index) =>
        `insert into agent_session (id, user_did, title, named, room_id, created_at, updated_at)
          select 's${index}-' || n, '${owner}', 'Goats', 1, 'r', ${now} - 1000000 - n, ${now} - 1000000 - n from ${numbers}`,
    ),
  ]);
