import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Env, StartError } from '@palaver/service-kit';
import { createForms } from '../forms/forms.ts';
import type { AskServer } from '../http/guarded-request.ts';
// biome-ignore lint/style/noRestrictedImports: these commands start the whole service.
import { startUssd } from '../main.ts';
import { formatFault } from '../menu/fault.ts';
import { loadPrograms, type ProgramFiles } from './load-programs.ts';

export interface TemporaryOptions extends ProgramFiles {
  env: Env;
  ask?: AskServer;
}

export interface TemporaryService {
  url: string;
  /** Where the SMS messages are that programs have sent. */
  smsFolder: string;
  /** The first code of the first program. */
  serviceCode: string;
  [Symbol.asyncDispose](): Promise<void>;
}

const otherCode = '*384#';

/** The gateway with programs of a folder and nothing else, on an empty database that is gone when it ends. */
export async function startTemporary({ folder, actions, env, ask }: TemporaryOptions): Promise<TemporaryService> {
  const { serviceCode, language } = await inspect({ folder, actions });
  const dataDir = await mkdtemp(join(tmpdir(), 'palaver-program-'));
  const remove = () => rm(dataDir, { recursive: true, force: true });
  const { DATABASE_URL: _, REDIS_URL: __, USSD_MENUS: ___, USSD_LOCALES: ____, NODE_ENV: _____, ...own } = env;
  const service = await startUssd(
    {
      ...own,
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'silent',
      RATE_LIMIT_PER_MINUTE: '1000000',
      USSD_PROGRAMS: folder,
      USSD_ACTIONS: actions,
      USSD_LANGUAGE: language,
      OPERATOR_TOKEN: undefined,
      OPERATORS_FILE: undefined,
      USSD_SHARED_SECRET: undefined,
      SERVICE_CODES: undefined,
      USSD_ALLOWED_IPS: undefined,
      USSD_DAILY_FROM: undefined,
      AGENT_URL: undefined,
      // Nothing that is tried reaches people or the server that collects forms.
      SMS_PROVIDER: 'file',
      FORMS_SERVER: undefined,
      USSD_SIM_SWAP_URL: undefined,
    },
    { ...(ask && { ask }) },
  ).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return {
    url: service.url,
    smsFolder: join(dataDir, 'sms'),
    serviceCode,
    async [Symbol.asyncDispose]() {
      await service.close();
      await remove();
    },
  };
}

/** Faults are told before anything starts. */
async function inspect(files: ProgramFiles): Promise<{ serviceCode: string; language: string }> {
  await using forms = createForms();
  const menus = [];
  const faults = [];
  for await (const { check } of loadPrograms(files, forms)) {
    if (check.ok) menus.push(check.menu);
    else faults.push(...check.faults);
  }
  if (faults.length > 0) throw new StartError(faults.map(formatFault).join('\n'));
  const languages = menus.flatMap(({ locales }) => [...locales.keys()]);
  return {
    serviceCode: menus[0]?.codes[0] ?? otherCode,
    language: languages.includes('en') ? 'en' : (languages[0] ?? 'en'),
  };
}
