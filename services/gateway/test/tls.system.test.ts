// A node by its name, behind proxies that serve several names on one port.
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSelfSignedCertificate, createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import { startFixtureNode } from './fixture-node.ts';
import { startTestGateway } from './start-test-gateway.ts';

const names = ['other.example', 'localhost'] as const;

interface Site {
  port: number;
  folder: string;
  /** The port of the node of each name. */
  nodes: [other: number, own: number];
}

const proxies = {
  nginx: ({ port, folder, nodes }: Site) => ({
    args: ['-c', join(folder, 'proxy.conf'), '-p', folder, '-e', join(folder, 'error.log'), '-g', 'daemon off;'],
    config: [
      `pid ${folder}/nginx.pid; events {} http { access_log off;`,
      ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`),
      ...names.map(
        (name, index) => `server { listen 127.0.0.1:${port} ssl http2; server_name ${name};
          ssl_certificate ${folder}/${name}.pem; ssl_certificate_key ${folder}/${name}.pem;
          location / { grpc_pass grpc://127.0.0.1:${nodes[index]}; } }`,
      ),
      '}',
    ],
  }),
  haproxy: ({ port, folder, nodes }: Site) => ({
    args: ['-db', '-f', join(folder, 'proxy.conf')],
    config: [
      'defaults\n mode http\n timeout connect 2s\n timeout client 60s\n timeout server 60s',
      `frontend in\n bind 127.0.0.1:${port} ssl crt ${folder}/${names[0]}.pem crt ${folder}/${names[1]}.pem alpn h2`,
      ` use_backend own if { ssl_fc_sni ${names[1]} }\n default_backend other`,
      `backend other\n server a 127.0.0.1:${nodes[0]} proto h2`,
      `backend own\n server b 127.0.0.1:${nodes[1]} proto h2`,
    ],
  }),
};

test.for(Object.entries(proxies))(
  'a node behind %s with two virtual hosts is reached by its name',
  { timeout: 60_000 },
  async ([command, write], { skip }) => {
    if (spawnSync(command, ['-v']).error) return skip(`${command} is not installed`);
    await using other = await startFixtureNode({ reply: () => ({ code: 7, message: 'the other host' }) });
    await using own = await startFixtureNode();
    await using dir = await createTempDir();
    const certificates = names.map((name) => ({ name, ...createSelfSignedCertificate(name) }));
    for (const { name, key, cert } of certificates) await writeFile(join(dir.path, `${name}.pem`), cert + key);
    const port = await freePort();
    const { args, config } = write({ port, folder: dir.path, nodes: [other.port, own.port] });
    await writeFile(join(dir.path, 'proxy.conf'), `${config.join('\n')}\n`);
    const proxy = startProcess(command, args);
    onTestFinished(() => proxy.kill());
    const ca = certificates[1]?.cert;
    await using gateway = await startTestGateway(
      { GATEWAY_UPSTREAMS: `tls://localhost:${port}` },
      { ...(ca && { ca }) },
    );
    expect((await gateway.get('/fixture/item/1')).status).toBe(200);
    await waitFor('health', async () => (await gateway.get('/health')).status === 200);
  },
);
