import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { createTempDir } from './temp-dir.ts';
import { waitFor } from './wait-for.ts';

export interface Balancer extends AsyncDisposable {
  url: string;
  /** `haproxy`, or `node` where it is not installed. */
  kind: 'haproxy' | 'node';
}

/** How often the balancer asks each instance for `/ready`; it follows the first answer. */
export const balancerCheckMs = 100;

export interface BalancerOptions {
  /** Requests below this path stay on one instance for each client address; HAProxy only. */
  stickyPath?: string;
}

/** A round-robin load balancer before instances on these ports of loopback, with health checks on `/ready`. */
export async function startBalancer(ports: readonly number[], options: BalancerOptions = {}): Promise<Balancer> {
  const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;
  const balancer = await (hasHaproxy ? startHaproxy(ports, options) : startRoundRobin(ports));
  await waitFor('an instance behind the balancer', async () => (await fetch(`${balancer.url}/ready`)).ok);
  return balancer;
}

async function startHaproxy(ports: readonly number[], { stickyPath }: BalancerOptions): Promise<Balancer> {
  const dir = await createTempDir();
  const port = await freePort();
  const servers = ports.map((to) => `  server s${to} 127.0.0.1:${to}`);
  const config = [
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  timeout check 2s',
    'frontend in',
    `  bind 127.0.0.1:${port}`,
    ...(stickyPath === undefined ? [] : [`  use_backend sticky if { path_beg ${stickyPath} }`]),
    '  default_backend instances',
    // Without checks: a busy instance must not lose its clients to another one.
    'backend sticky',
    '  balance source',
    ...servers,
    'backend instances',
    '  balance roundrobin',
    '  option httpchk GET /ready',
    '  option redispatch 1',
    ...servers.map((server) => `${server} check inter ${balancerCheckMs}ms fall 1 rise 1`),
  ];
  const path = join(dir.path, 'haproxy.cfg');
  await writeFile(path, `${config.join('\n')}\n`);
  const child = spawn('haproxy', ['-db', '-f', path], { stdio: 'ignore' });
  const killWithParent = () => child.kill('SIGKILL');
  process.once('exit', killWithParent);
  return {
    url: `http://127.0.0.1:${port}`,
    kind: 'haproxy',
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', killWithParent);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function startRoundRobin(ports: readonly number[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const up = new Set<number>();
  const check = setInterval(() => {
    for (const port of ports)
      fetch(`http://127.0.0.1:${port}/ready`, { signal: AbortSignal.timeout(2_000) }).then(
        ({ ok }) => (ok ? up.add(port) : up.delete(port)),
        () => up.delete(port),
      );
  }, balancerCheckMs);
  let count = 0;
  const server = createServer((incoming, reply) => {
    const open = ports.filter((port) => up.has(port));
    count += 1;
    const port = open[count % open.length];
    if (port === undefined) return reply.writeHead(503).end();
    const { method, url: path, headers } = incoming;
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
      const { connection: _, ...kept } = answer.headers;
      reply.writeHead(answer.statusCode ?? 502, kept);
      answer.pipe(reply);
    });
    outgoing.on('error', () => reply.headersSent || reply.writeHead(502).end());
    return incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    kind: 'node',
    async [Symbol.asyncDispose]() {
      clearInterval(check);
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
