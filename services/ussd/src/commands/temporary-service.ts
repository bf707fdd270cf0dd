import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultServiceCode } from '@palaver/contract/internal';
import { createForms } from '@palaver/forms/internal';
import { formatFault, type Menu } from '@palaver/program/internal';
import { type Env, StartError } from '@palaver/service-kit';
import { fetchBounded } from '@palaver/service-kit/internal';
import type { ProgramServers } from '../actions/http-actions.ts';
import { codesOf } from '../catalog/program-files.ts';
import { programSecretPrefix } from '../config.ts';
// biome-ignore lint/style/noRestrictedImports: these commands start the whole service.
import { startUssd } from '../main.ts';
import type { Claims } from '../money/claims.ts';
import type { Sms } from '../outgoing/sms-provider.ts';
import { loadPrograms, type ProgramFiles } from './check-programs.ts';

export interface TemporaryOptions extends ProgramFiles {
  /** The environment with the secrets of programs and the query gateway; none by default. */
  env?: Env;
  servers?: ProgramServers;
}

/** The variables that a tried program may use: no keys, no databases, no receivers. */
const readable = [
  'USSD_HTTP_ALLOWED_HOSTS',
  'GATEWAY_URL',
  'GATEWAY_API_KEY',
  'GATEWAY_UCAN',
  'GATEWAY_PREFIX',
  'RESUME_MINUTES',
  'SESSION_TIMEOUT_SECONDS',
];

/** The gateway with the programs of a folder only, on an empty database that is deleted at the end. */
export async function startTemporary({ folder, actions, env, servers }: TemporaryOptions) {
  const menus = await loadFaultless({ folder, actions });
  const claims = createKeptClaims();
  const languages = menus.flatMap(({ locales }) => [...locales.keys()]);
  const dataDir = await mkdtemp(join(tmpdir(), 'palaver-program-'));
  const remove = () => rm(dataDir, { recursive: true, force: true });
  const service = await startUssd(
    {
      ...(env ? toReadable(env) : toMadeUpSecrets(menus)),
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'silent',
      RATE_LIMIT_PER_MINUTE: '1000000',
      SMS_PROVIDER: 'file',
      USSD_PROGRAMS: folder,
      USSD_ACTIONS: actions,
      USSD_LANGUAGE: languages.includes('en') ? 'en' : languages[0],
    },
    { servers: { ...servers, claims } },
  ).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return {
    url: service.url,
    /** Waits until none is queued. */
    messages: () => readMessages(service.url, join(dataDir, 'sms')),
    claims: claims.of,
    serviceCode: (menus[0] && codesOf(menus[0])[0]) ?? defaultServiceCode,
    async [Symbol.asyncDispose]() {
      await service.close();
      await remove();
    },
  };
}

export type TemporaryService = Awaited<ReturnType<typeof startTemporary>>;

function toReadable(env: Env): Env {
  const isReadable = (name: string) => readable.includes(name) || name.startsWith(programSecretPrefix);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isReadable(name)));
}

function toMadeUpSecrets(menus: readonly Menu[]): Env {
  return Object.fromEntries(
    menus.flatMap(({ secrets }) => secrets.map((name) => [programSecretPrefix + name, 'test'])),
  );
}

const pollMs = 100;

async function readMessages(url: string, folder: string): Promise<Sms[]> {
  const count = async (status: string) => {
    const response = await fetchBounded(`${url}/api/ussd/sms?status=${status}&limit=1`, { timeoutMs: 5_000 });
    return ((await response.json()) as { messages: unknown[] }).messages.length;
  };
  while ((await count('queued')) > 0 || (await count('sending')) > 0) await sleep(pollMs);
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.map((text) => JSON.parse(text) as Sms);
}

async function loadFaultless(files: ProgramFiles): Promise<Menu[]> {
  await using forms = createForms();
  const menus = [];
  const faults = [];
  for await (const { check } of loadPrograms(files, forms)) {
    if (check.ok) menus.push(check.menu);
    else faults.push(...check.faults);
  }
  if (faults.length > 0) throw new StartError(faults.map(formatFault).join('\n'));
  return menus;
}

export interface KeptClaim {
  claim: string;
  collection?: string;
  fields: Record<string, unknown>;
}

interface KeptClaims extends Pick<Claims, 'add' | 'countSince'> {
  of(phone: string): KeptClaim[];
}

/** Takes the claims of programs that are tried out: none reaches the protocol. */
export function createKeptClaims(): KeptClaims {
  const kept = new Map<string, KeptClaim & { phone: string }>();
  const of = (wanted: string) =>
    [...kept.values()].filter(({ phone }) => phone === wanted).map(({ phone: _, ...claim }) => claim);
  return {
    of,
    async add(_trx, { source, phone, collection, content: { filedAt: _, ...fields } }) {
      const [, claim = ''] = source.split(':');
      kept.set(source, { phone, claim, ...(collection !== undefined && { collection }), fields });
    },
    countSince: async (_trx, phone) => of(phone).length,
  };
}
