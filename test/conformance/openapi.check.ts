// Schemathesis, from PyPI on first use: requests by the OpenAPI documents of the three services, valid and not, and whether the
// services answer as the documents say.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { expect, test } from 'vitest';
import { installPython, run } from './programs.ts';

const suite = 'schemathesis==4.32.5';
const palaver = fileURLToPath(new URL('../../node_modules/.bin/palaver', import.meta.url));

interface Suite {
  port: number;
  document: string;
  headers: Record<string, string>;
  /** Findings that are no fault of the service, by their code and then the operation: `docs/standards.md` explains them. */
  allowed: Record<string, RegExp>;
}

interface Report {
  operations: { tested: number; total: number };
  test_cases: { generated: number };
  failures: { code: string; title: string; operations: string[] }[];
  errors: object[];
}

const rejected = 'ST202';
const accepted = 'ST201';
const serverError = 'ST101';

test('the services answer as their OpenAPI documents say', async () => {
  const folder = installPython('schemathesis', [suite]);
  await using dir = await createTempDir();
  const [agent, ussd, gateway, devnode, console_] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const operator = 'the-token-of-the-operator-of-this-check';
  const services = startProcess(process.execPath, [palaver, 'up'], {
    env: {
      DATA_DIR: join(dir.path, 'data'),
      AGENT_PORT: `${agent}`,
      USSD_PORT: `${ussd}`,
      GATEWAY_PORT: `${gateway}`,
      DEVNODE_PORT: `${devnode}`,
      CONSOLE_PORT: `${console_}`,
      OPERATOR_TOKEN: operator,
      LOG_LEVEL: 'error',
      OFFLINE_WORDS_PER_SECOND: '1000',
      SENDS_PER_MINUTE: '1000000',
      WRITES_PER_MINUTE_PER_ADDRESS: '1000000',
      UCAN_AUTH_MAX_TTL_SECONDS: '86400',
      RATE_LIMIT_PER_MINUTE: '10000000',
    },
  });
  await using _services = {
    async [Symbol.asyncDispose]() {
      services.kill('SIGTERM');
      await services.exited;
    },
  };
  await services.printed('Ctrl-C stops everything');
  const { id: audience } = (await (await fetch(`http://127.0.0.1:${agent}/.well-known/did.json`)).json()) as {
    id: string;
  };
  await waitFor('the routes of the gateway', async () => (await fetch(`http://127.0.0.1:${gateway}/ready`)).ok);
  const capability = { can: 'oracle/*', with: 'ixo:oracle' };
  const user = await createInvocation({ issuer: await createSigner(), audience, capability, lifetimeSeconds: 86_000 });
  const signIn = { authorization: `Bearer ${user.serialized}`, 'x-auth-type': 'ucan' };
  const suites: Record<string, Suite> = {
    agent: {
      port: agent,
      document: 'docs/json',
      headers: signIn,
      allowed: {
        // The last message, a token, the kind of a file, an `Accept` header, the name of a time zone and one of two cursors: no schema says them.
        [rejected]:
          /^(POST \/(agui|api\/chat|delegation|files|mcp|v1\/.*|messages\/.*)|GET \/sessions\/\{sessionId\}\/messages)$/,
        // Its body is optional, and `null` counts as an absent one.
        [accepted]: /^POST \/sessions$/,
      },
    },
    ussd: {
      port: ussd,
      document: 'docs/json',
      headers: { authorization: `Bearer ${operator}` },
      // Programs that have faults, references to callers that were not given, a span of days, a workbook that cannot be read.
      allowed: {
        [rejected]:
          /^(POST \/api\/ussd\/(callers\/.*|programs\/\{name\}\/(check|publish|try|convert-form))|GET .*\/stats|PUT .*\/draft)$/,
      },
    },
    gateway: {
      port: gateway,
      document: 'openapi.json',
      headers: {},
      // What the node says of addresses, denominations and heights, and of what it does not have: UNKNOWN, which is a 500.
      allowed: { [rejected]: /^GET /, [serverError]: /^GET \/ixo\/(claims|token)\// },
    },
  };
  const unexpected: string[] = [];
  for (const [name, { port, document, headers, allowed }] of Object.entries(suites)) {
    const url = `http://127.0.0.1:${port}`;
    const file = join(dir.path, `${name}.json`);
    const { output } = await run(
      join(folder, 'bin/schemathesis'),
      [
        ...['run', `${url}/${document}`, '--url', url, '--seed', '1', '--max-examples', '10', '--continue-on-failure'],
        ...['--suppress-health-check', 'all'],
        ...[
          '--phases',
          'examples,coverage,fuzzing',
          '--warnings',
          'off',
          '--report',
          'json',
          '--report-json-path',
          file,
        ],
        // Unknown routes are 404 here, other methods of known paths too; and the headers below are always sent.
        ...['--exclude-checks', 'unsupported_method,ignored_auth,missing_required_header'],
        ...Object.entries(headers).flatMap(([header, value]) => ['--header', `${header}: ${value}`]),
      ],
      { cwd: dir.path },
    );
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
    const { operations, test_cases: cases, failures, errors } = report;
    const counts = failures.map((one) => `${one.code} ${one.title}: ${one.operations.length} operations`);
    console.log(
      `${name}: ${cases.generated} requests to ${operations.tested} of ${operations.total} operations`,
      counts,
    );
    const others = failures.flatMap(({ code, title, operations: of }) =>
      of.filter((one) => !allowed[code]?.test(one)).map((one) => `${name}: ${title}: ${one}`),
    );
    if (others.length > 0 || errors.length > 0) console.log(output.slice(-20_000));
    unexpected.push(...others, ...errors.map((error) => `${name}: ${JSON.stringify(error)}`));
  }
  expect(unexpected).toEqual([]);
});
