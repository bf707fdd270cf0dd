import { ucanLimits } from '@palaver/contract';
import { StartError } from '@palaver/service-kit';
import { createDelegation, createInvocation } from '@palaver/ucan';
import type { Command } from 'commander';
import { fetchAgentDid, loadUserKey, toKeyPath } from '../agent-client.ts';
import { toSeconds, toServerUrl } from '../options.ts';

interface TokenOptions {
  for?: string;
  audience?: string;
  delegation?: boolean;
  lifetime?: number;
  can: string;
  with?: string;
  key: string;
  headers?: boolean;
  json?: boolean;
}

export function addTokenCommand(program: Command): void {
  program
    .command('token')
    .description('create a token for an agent, signed with a local key, to use with curl')
    .option('--for <url>', 'address of the agent; its DID is read from there', toServerUrl)
    .option('--audience <did>', 'DID of the agent, instead of --for')
    .option('--delegation', 'a delegation (24 h) instead of an invocation (5 min)')
    .option('--lifetime <time>', 'lifetime: seconds, or 12h, 30d; over 15 minutes the token is a delegation', toSeconds)
    .option('--can <ability>', 'what it allows', 'oracle/*')
    .option('--with <resource>', "resource it applies to (default: the agent's DID)")
    .option('--key <file>', 'file of the key to sign with; created if missing', toKeyPath(process.env))
    .option('--headers', 'print it as request headers, for curl -H @file')
    .option('--json', 'print everything as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  OPENAI_API_KEY=$(npx palaver token --for http://127.0.0.1:4000 --lifetime 30d)\n  curl -H @<(npx palaver token --for http://127.0.0.1:4000 --headers) http://127.0.0.1:4000/sessions',
    )
    .action(printToken);
}

async function printToken(options: TokenOptions): Promise<void> {
  if (!options.for && !options.audience) throw new StartError('Name the agent with --for URL or --audience DID.');
  const audience = options.audience ?? (await fetchAgentDid(options.for ?? ''));
  if (!/^did:[a-z0-9]+:.+/.test(audience))
    throw new StartError(`--audience must be a DID such as did:key:z6Mk…, not "${audience}".`);
  const { signer, created } = await loadUserKey(options.key);
  if (created) process.stderr.write(`Made a key in ${options.key}; it is you from now on.\n`);
  const capability = { can: options.can, with: options.with ?? audience };
  // Agents refuse invocations that live longer.
  const isDelegation = options.delegation || (options.lifetime ?? 0) > ucanLimits.maxTtlSeconds;
  const base = { issuer: signer, audience, ...(options.lifetime && { lifetimeSeconds: options.lifetime }) };
  const token = await (isDelegation
    ? createDelegation({ ...base, capabilities: [capability] })
    : createInvocation({ ...base, capability })
  ).catch((error: Error) => {
    throw new StartError(`The token cannot be created: ${error.message}`, { cause: error });
  });
  if (options.json) {
    const { serialized, expiresAt, cid } = token;
    const kind = isDelegation ? 'delegation' : 'invocation';
    process.stdout.write(
      `${JSON.stringify({ kind, token: serialized, did: signer.did(), audience, expiresAt, cid })}\n`,
    );
  } else if (options.headers) {
    const lines = isDelegation
      ? [`x-ucan-delegation: ${token.serialized}`]
      : [`Authorization: Bearer ${token.serialized}`, 'X-Auth-Type: ucan'];
    process.stdout.write(`${lines.join('\n')}\n`);
  } else {
    process.stdout.write(`${token.serialized}\n`);
  }
}
