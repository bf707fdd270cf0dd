// CPU time and PostgreSQL pages of a request, with few rows and with many, in turns; the least disturbed turn counts.
// `npm run bench:growth`, about five minutes; BENCH_SCALE=0.1 is a tenth of the rows. Lines above 1.5 are marked.
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInvocation, createSigner } from '@palaver/ucan';
import type pg from 'pg';
import { createDatabase, openBench, readPages } from '../harness.ts';
import { fillAgent, fillUssd } from './fill.ts';

interface Line {
  name: string;
  count: number;
  /** What it costs is divided by this. */
  per?: number;
  prepare?(): Promise<unknown>;
  run(i: number): Promise<unknown>;
}

interface Level {
  lines: Line[];
  cpu(): Promise<number>;
  pages(): Promise<number | undefined>;
}

const scale = Number(process.env.BENCH_SCALE ?? 1);
const sizes = { ussd: [1_000, 100_000], agent: [100, 9_000] } as const;
const turns = 3;

await using bench = openBench();
const programs = join(bench.dir, 'programs', 'notes');
mkdirSync(join(programs, 'locales'), { recursive: true });
writeFileSync(
  join(programs, 'program.yaml'),
  `name: notes
codes: ["*384*1#"]
extends: palaver
languages: [en]
start: home
records: { note: { text: text } }
states:
  home: { kind: menu, text: home, options: [{ text: write, to: ask }] }
  ask: { kind: prompt, text: ask, type: text, save: words, to: keep }
  keep: { kind: action, store: note, fields: { text: words }, outcomes: { stored: thanks } }
  thanks: { kind: page, text: thanks }
`,
);
writeFileSync(join(programs, 'locales/en.yaml'), 'home: Notes\nwrite: Write\nask: What?\nthanks: Thank you.\n');

const server = await bench.startPostgres();
const table = ['| Engine | Request | Rows | CPU ms | Ratio | Pages | |', '|---|---|---|---|---|---|---|'];
for (const engine of ['sqlite', 'postgres'] as const)
  for (const [service, open] of [
    ['ussd', openUssd],
    ['agent', openAgent],
  ] as const) {
    const rows = sizes[service].map((size) => Math.round(size * scale));
    const levels: Level[] = [];
    for (const size of rows) levels.push(await open(await openDatabase(engine), size));
    await compare(engine, rows, levels);
  }
console.log(table.join('\n'));

interface Database {
  url: string;
  client?: pg.Client;
}

async function openDatabase(engine: 'sqlite' | 'postgres'): Promise<Database> {
  return engine === 'sqlite' ? { url: `file:${join(bench.dir, `${randomUUID()}.db`)}` } : createDatabase(bench, server);
}

async function startService(name: 'ussd' | 'agent', { url, client }: Database, env: Record<string, string>) {
  const own = { LOG_LEVEL: 'error', DATA_DIR: mkdtempSync(join(bench.dir, 'data-')), DATABASE_URL: url };
  const program = await bench.startService(name, { ...own, ...env });
  return {
    url: program.url,
    cpu: async () => (await program.usage()).cpuMicros / 1_000,
    pages: async () => client && readPages(client),
  };
}

async function ask(url: string, init?: RequestInit): Promise<string> {
  const reply = await fetch(url, init);
  const text = await reply.text();
  if (!reply.ok || /unavailable|Invalid/.test(text)) throw new Error(`${url}: ${reply.status} ${text.slice(0, 200)}`);
  return text;
}

async function openUssd(database: Database, rows: number): Promise<Level> {
  const env = { RATE_LIMIT_PER_MINUTE: '1000000000', PIN_ENCRYPTION_KEY: 'a'.repeat(64), USSD_WATCH_MENUS: 'false' };
  const service = await startService('ussd', database, { ...env, USSD_PROGRAMS: join(bench.dir, 'programs') });
  await fillUssd(database.url, rows);
  let open: string[] = [];
  const say = (sessionId: string, text: string) => {
    const phoneNumber = `+2547${String(parseInt(sessionId.slice(0, 6), 16)).padStart(8, '0')}`;
    const body = JSON.stringify({ sessionId, serviceCode: '*384*1#', phoneNumber, text });
    return ask(`${service.url}/api/ussd`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  };
  const results = `${service.url}/api/ussd/programs/notes/results/records/note`;
  const count = 150;
  const lines: Line[] = [
    { name: 'dial', count, run: () => say(randomUUID(), '') },
    {
      name: 'key press',
      count,
      async prepare() {
        open = Array.from({ length: count }, () => randomUUID());
        for (const id of open) await say(id, '');
      },
      run: (i) => say(open[i] ?? '', '1'),
    },
    { name: 'record stored, with its call', count, run: () => say(randomUUID(), '1*maize') },
    { name: 'results, first page', count: 40, run: () => ask(`${results}?limit=20`) },
    { name: 'results, page 40', count: 40, run: () => ask(`${results}?limit=20&offset=780`) },
    {
      name: 'results of a day',
      count: 20,
      run: () => ask(`${results}?limit=20&from=${new Date().toISOString().slice(0, 10)}`),
    },
    { name: 'results as CSV, each 1,000', count: 2, per: rows / 1_000, run: () => ask(`${results}/export`) },
  ];
  return { ...service, lines };
}

async function openAgent(database: Database, rows: number): Promise<Level> {
  const env = {
    SENDS_PER_MINUTE: '1000000',
    WRITES_PER_MINUTE_PER_ADDRESS: '1000000',
    READS_PER_MINUTE_PER_ADDRESS: '1000000',
    SHARED_CLIENT_CIDRS: '127.0.0.0/8,::1',
    OFFLINE_WORDS_PER_SECOND: '10000',
  };
  const service = await startService('agent', database, env);
  const signer = await createSigner();
  const audience = (JSON.parse(await ask(`${service.url}/.well-known/did.json`)) as { id: string }).id;
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;
  const token = (await createInvocation({ issuer: signer, audience, capability, lifetimeSeconds: 800 })).serialized;
  const headers = { authorization: `Bearer ${token}`, 'x-auth-type': 'ucan', 'content-type': 'application/json' };
  const send = (path: string, body?: object) =>
    ask(`${service.url}${path}`, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  const { sessionId } = JSON.parse(await send('/sessions', {})) as { sessionId: string };
  await fillAgent(database.url, { rows, did: signer.did(), sessionId });
  const lines: Line[] = [
    { name: 'history, newest page', count: 40, run: () => send(`/sessions/${sessionId}/messages?limit=20`) },
    { name: 'new turn', count: 20, run: () => send(`/messages/${sessionId}`, { message: 'hello' }) },
    { name: 'new session', count: 40, run: () => send('/sessions', {}) },
    { name: 'list of sessions', count: 40, run: () => send('/sessions?limit=20') },
  ];
  return { ...service, lines };
}

/** The first turn warms up. */
async function compare(engine: string, rows: number[], levels: Level[]): Promise<void> {
  for (const [index, { name }] of (levels[0]?.lines ?? []).entries()) {
    const costs = levels.map(() => ({ cpu: Number.POSITIVE_INFINITY, pages: undefined as number | undefined }));
    for (let turn = 0; turn <= turns; turn += 1)
      for (const [at, level] of levels.entries()) {
        const cost = costs[at];
        const line = level.lines[index];
        if (!cost || !line) continue;
        await line.prepare?.();
        const [cpu, pages] = [await level.cpu(), turn === 1 ? await level.pages() : undefined];
        for (let i = 0; i < line.count; i += 1) await line.run(i);
        const each = line.count * (line.per ?? 1);
        if (turn > 0) cost.cpu = Math.min(cost.cpu, ((await level.cpu()) - cpu) / each);
        if (pages !== undefined) cost.pages = (((await level.pages()) ?? 0) - pages) / each;
      }
    const [small, large] = costs;
    if (!small || !large) continue;
    const ratio = large.cpu / small.cpu;
    const pages = small.pages === undefined ? '' : `${small.pages.toFixed(0)} → ${large.pages?.toFixed(0)}`;
    const grows = ratio > 1.5 || (large.pages ?? 0) > 1.5 * (small.pages ?? 0) ? 'grows' : '';
    const cpu = `${small.cpu.toFixed(2)} → ${large.cpu.toFixed(2)}`;
    table.push(`| ${engine} | ${name} | ${rows.join(' → ')} | ${cpu} | ${ratio.toFixed(2)} | ${pages} | ${grows} |`);
    process.stderr.write(`${table.at(-1)}\n`);
  }
}
