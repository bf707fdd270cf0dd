import { writeFile } from 'node:fs/promises';
import { type Env, withEnvFile } from '@palaver/service-kit';
import type { Command } from 'commander';
import { toServerUrl } from '../options.ts';
import { printJson, printTable } from '../table.ts';

export function addGatewayCommands(gateway: Command): void {
  gateway
    .command('routes')
    .description('list the routes that the connected node offers now')
    .option('--upstream <host:port>', 'the node to ask, instead of GATEWAY_UPSTREAMS')
    .option('--json', 'print them as JSON')
    .action(async ({ upstream, json }: { upstream?: string; json?: boolean }) => {
      const { listRoutes } = await import('@palaver/gateway/list-routes');
      const routes = await listRoutes(toGatewayEnv(upstream));
      const listed = routes.map(({ template, grpcPath, legacy }) => {
        return { path: template, method: grpcPath.slice(1), isLegacy: legacy !== undefined };
      });
      const rows = listed.map(({ path, method, isLegacy }) => [path, method, isLegacy ? 'legacy' : '']);
      if (json) printJson(listed);
      else printTable(['Path', 'Method', ''], rows);
    });
  gateway
    .command('client')
    .description('write a typed TypeScript client for the routes of the connected node')
    .requiredOption('--out <file>', 'the file to write')
    .option('--upstream <host:port>', 'the node to ask, instead of GATEWAY_UPSTREAMS')
    .action(async ({ out, upstream }: { out: string; upstream?: string }) => {
      const { writeClient } = await import('@palaver/gateway/list-routes');
      await writeFile(out, await writeClient(toGatewayEnv(upstream)));
      process.stdout.write(`Wrote ${out}.\n`);
    });
  gateway
    .command('check')
    .description('compare this gateway with another REST endpoint, route by route; exit with status 1 if they differ')
    .argument('<url>', 'the other endpoint, such as https://node.example:1317', toServerUrl)
    .option('--own <url>', 'the gateway to check', toServerUrl, 'http://127.0.0.1:1317')
    .option('--value <name=value>', 'value of a path variable, repeatable', (pair, all: string[]) => [...all, pair], [])
    .option('--json', 'print the results as JSON')
    .action(async (url: string, { own, value, json }: { own: string; value: string[]; json?: boolean }) => {
      const { listRoutes } = await import('@palaver/gateway/list-routes');
      const { checkGateway } = await import('@palaver/gateway/check-gateway');
      const routes = (await listRoutes(toGatewayEnv())).filter(({ legacy }) => !legacy);
      process.stderr.write(`Comparing ${routes.length} routes …\n`);
      const rows = await checkGateway({
        own: trimSlash(own),
        other: trimSlash(url),
        templates: routes.map(({ template }) => template),
        values: Object.fromEntries(value.map(toPair)),
      });
      const table = rows.map((row) => [row.path, String(row.own), String(row.other), row.verdict]);
      if (json) printJson(rows);
      else printTable(['Path', 'Here', 'There', 'Verdict'], table);
      if (rows.some(({ verdict }) => verdict !== 'same')) process.exitCode = 1;
    });
}

/** Under `npm start`, a gateway without GATEWAY_UPSTREAMS asks the development node. */
function toGatewayEnv(upstream?: string): Env {
  const env = withEnvFile(process.env);
  const devnode = env.DEVNODE_PORT && `127.0.0.1:${env.DEVNODE_PORT}`;
  return { ...env, GATEWAY_UPSTREAMS: upstream ?? (env.GATEWAY_UPSTREAMS || devnode) };
}

function toPair(text: string): [string, string] {
  const equals = text.indexOf('=');
  return equals === -1 ? [text, ''] : [text.slice(0, equals), text.slice(equals + 1)];
}

const trimSlash = (url: string): string => url.replace(/\/+$/, '');
