import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createTempDir, freePort, startProcess, testWithRedis } from '@palaver/test-kit';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const key = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';

/**
 * Programs that start a service and report a fault without `process.exit`: one that leaves a timer, a socket or a
 * connection open never ends.
 */
const program = (path: string, call: string) => `
  import * as service from ${JSON.stringify(root + path)};
  ${call}.catch((error) => {
    process.exitCode = 1;
    console.error('FAULT', error.message);
  });
`;
const starts = {
  ussd: program('services/ussd/src/main.ts', 'service.startUssd(process.env)'),
  agent: program('services/agent/src/main.ts', 'service.startAgent(process.env)'),
  gateway: program('services/gateway/src/main.ts', 'service.startGateway(process.env)'),
  devnode: program('services/devnode/src/main.ts', 'service.startDevnode(process.env)'),
  console: program('apps/console/src/main.ts', 'service.startConsole(process.env)'),
};
const createApp = (options: string) =>
  program('packages/agent-plugins/src/index.ts', `service.createOracleApp({ env: process.env, ${options} })`);
const agentWithPlugin = (methods: string) => {
  const manifest = `{ title: 'Bad', summary: 'Bad', whenToUse: 'Never', capabilities: [], visibility: 'silent' }`;
  return createApp(`plugins: [{ name: 'bad', version: '1', manifest: ${manifest}, ${methods} }]`);
};

interface Fault {
  what: string;
  script: string;
  env?: Record<string, string>;
  message: RegExp;
}

const boom = `{ throw new Error('boom'); }`;
const faults: Fault[] = [
  ...(Object.keys(starts) as (keyof typeof starts)[]).map((name) => ({
    what: `${name}: the port is taken`,
    script: starts[name],
    message: /FAULT Port \d+ is already in use; stop the other program or set PORT to another port\.\n/,
  })),
  ...(['ussd', 'agent'] as const).map((name) => ({
    what: `${name}: no database`,
    script: starts[name],
    env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
    message: /FAULT cannot use PostgreSQL at 127\.0\.0\.1:1\/none/,
  })),
  {
    what: 'ussd: no such language',
    script: starts.ussd,
    env: { USSD_LANGUAGE: 'xx', USSD_WATCH_MENUS: 'true' },
    message: /FAULT USSD_LANGUAGE=xx/,
  },
  {
    what: 'gateway: no such descriptors',
    script: starts.gateway,
    env: { GATEWAY_DESCRIPTORS: '/nowhere' },
    message: /FAULT GATEWAY_DESCRIPTORS: \/nowhere/,
  },
  { what: 'agent: a plugin that throws', script: agentWithPlugin(`setup() ${boom}`), message: /FAULT .*boom/ },
  {
    what: 'agent: routes of a plugin that throw',
    script: agentWithPlugin(`getRoutes() ${boom}`),
    message: /FAULT .*boom/,
  },
  {
    what: 'agent: own routes that throw',
    script: createApp(`hooks: { addRoutes() ${boom} }`),
    message: /FAULT .*boom/,
  },
];

testWithRedis.concurrent.for(faults)(
  'a start that fails leaves nothing that keeps the process alive: $what',
  async ({ script, env, message }, { redisUrl, expect }) => {
    await using dir = await createTempDir();
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const child = startProcess(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: root,
      env: {
        PORT: String(port),
        DATA_DIR: dir.path,
        REDIS_URL: redisUrl,
        PIN_ENCRYPTION_KEY: key,
        GATEWAY_UPSTREAMS: `127.0.0.1:${await freePort()}`,
        GATEWAY_RATE_LIMIT_PER_MINUTE: '100',
        LOG_LEVEL: 'silent',
        ...env,
      },
    });
    const stuck = setTimeout(() => child.kill(), 150_000);
    expect(await child.exited, child.output()).toBe(1);
    expect(child.output()).toMatch(message);
    clearTimeout(stuck);
    await new Promise((resolve) => taken.close(resolve));
  },
);
