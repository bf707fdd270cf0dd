import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { defaultPorts } from '@palaver/contract';
import { parseConfig } from '@palaver/service-kit/internal';
import { type ServiceName, services, unknownVariables } from 'palaver/services';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const image = Object.fromEntries(
  [...read('Dockerfile').matchAll(/^(?:ENV)? +([A-Z_]+)=(\S+)/gm)].map(([, name, value]) => [name, value]),
);
const names = Object.keys(services) as ServiceName[];

/** What a service says of an environment, the refusal of unsafe starts included. */
function faultsOf(name: ServiceName, env: Record<string, string>): string[] {
  const result = parseConfig(services[name].schema, { ...image, ...env });
  return [...unknownVariables(env), ...('faults' in result ? result.faults : [])];
}

it('the image listens outside its own machine in production, runs as a number that is not root, and exposes every port', () => {
  expect(image).toMatchObject({ NODE_ENV: 'production', HOST: '0.0.0.0' });
  expect(read('Dockerfile')).toMatch(/^USER [1-9]\d+:[1-9]\d+$/m);
  const [, exposed = ''] = /^EXPOSE (.*)$/m.exec(read('Dockerfile')) ?? [];
  expect(exposed.split(' ').map(Number).sort()).toEqual(Object.values(defaultPorts).sort());
});

describe('compose.yaml', () => {
  const { services: containers } = parse(read('compose.yaml'), { merge: true }) as {
    services: Record<
      string,
      { command: string[]; environment: Record<string, string>; read_only?: boolean; ports?: string[] }
    >;
  };

  it.each(names)('%s starts with its environment, on its own port, with a read-only root', (name) => {
    const { command, environment, read_only, ports = [] } = containers[name] ?? { command: [], environment: {} };
    expect([command, read_only]).toEqual([[name], true]);
    const env = Object.fromEntries(
      Object.entries(environment).map(([key, value]) => [
        key,
        value.replace(/\$\{\w+:-(.*?)\}/g, '$1').replace(/\$\{.*?\}/g, '9f3c71e5a8d02b64'.repeat(4)),
      ]),
    );
    expect(faultsOf(name, env)).toEqual([]);
    expect(env.PORT).toBe(String(defaultPorts[name]));
    for (const port of ports) expect(port).toBe(`127.0.0.1:${env.PORT}:${env.PORT}`);
  });
});

describe('the Helm chart', () => {
  const secret = {
    DATABASE_URL: 'postgres://db/palaver',
    REDIS_URL: 'redis://cache',
    ...Object.fromEntries(
      ['OPERATOR_TOKEN', 'USSD_SHARED_SECRET', 'PIN_ENCRYPTION_KEY', 'ORACLE_PRIVATE_KEY'].map((key) => [
        key,
        '9f3c71e5a8d02b64'.repeat(4),
      ]),
    ),
  };

  it('names every secret that a service needs, and their own ports', () => {
    const text = read('charts/palaver/values.yaml');
    for (const key of Object.keys(secret)) expect(text).toContain(key);
    const values = parse(text) as { services: Record<ServiceName, { port: number }> };
    for (const [name, { port }] of Object.entries(values.services))
      expect([name, port]).toEqual([name, defaultPorts[name as ServiceName]]);
  });

  it('renders containers that start, each with probes, a disruption budget and an autoscaler', ({ skip }) => {
    if (spawnSync('helm', ['version']).status !== 0) skip('the chart is rendered by helm, which is not on the PATH');
    const chart = new URL('../charts/palaver', import.meta.url).pathname;
    const lint = spawnSync('helm', ['lint', '--strict', chart], { encoding: 'utf8' });
    expect(lint.status, lint.stdout).toBe(0);
    const set = 'services.gateway.env.GATEWAY_UPSTREAMS=node.example:9090';
    const { stdout, stderr } = spawnSync('helm', ['template', 'village', chart, '--set', set], { encoding: 'utf8' });
    const objects = parseAllDocuments(stdout, { merge: true })
      .map((document) => document.toJS())
      .filter(Boolean);
    expect(objects.length, stderr).toBe(16);
    const count = (kind: string) => objects.filter((object) => object.kind === kind).length;
    expect(['Deployment', 'Service', 'PodDisruptionBudget', 'HorizontalPodAutoscaler'].map(count)).toEqual([
      4, 4, 4, 4,
    ]);
    for (const { kind, metadata, spec } of objects) {
      if (kind !== 'Deployment') continue;
      const [container] = spec.template.spec.containers;
      const name = container.args[0] as ServiceName;
      const env = Object.fromEntries(
        container.env.map(({ name: key, value }: { name: string; value: string }) => [key, value]),
      );
      expect(faultsOf(name, { ...secret, ...env }), metadata.name).toEqual([]);
      expect(container.readinessProbe.httpGet.path).toBe('/ready');
      expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
    }
  });
});
