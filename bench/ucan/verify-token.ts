// Time to verify a token for the first time and again, beside ucanto's own validator on the same token.
// Run with: node bench/ucan/verify-token.ts
import { createInvocation, createSigner, createVerifier, parseToken } from '@palaver/ucan';
import { type API, Delegation } from '@ucanto/core';
import { Verifier } from '@ucanto/principal/ed25519';
import { access, capability, Schema } from '@ucanto/validator';

const rounds = 1_000;
const validatorRounds = 100;

const issuer = await createSigner();
const agent = await createSigner();
// The user's own DID as the resource: the one case both sets of rules accept without a proof.
const wanted = { can: 'oracle/chat', with: issuer.did() };
const tokens = await Promise.all(
  Array.from({ length: 2 * rounds }, async () => {
    const { serialized } = await createInvocation({ issuer, audience: agent.did(), capability: wanted });
    return serialized;
  }),
);
const [warmUp, measured] = [tokens.slice(0, rounds), tokens.slice(rounds)];
const verifier = createVerifier({ audiences: [agent.did()] });
const chat = capability({ can: 'oracle/chat', with: Schema.did() });

async function validateWithUcanto(token: string): Promise<boolean> {
  const { ok } = await Delegation.extract(Buffer.from(token, 'base64'));
  const result = await access(ok as unknown as API.Invocation<{ can: 'oracle/chat'; with: API.DID }>, {
    capability: chat,
    authority: Verifier.parse(agent.did()),
    principal: Verifier,
    validateAuthorization: () => ({ ok: {} }),
  });
  return result.ok !== undefined;
}

interface Row {
  readonly median: number;
  readonly p95: number;
  /** Processor time a run: unlike the others it hardly changes when something else keeps the machine busy. */
  readonly cpu: number;
}

async function measure(run: (token: string) => Promise<boolean>, count: number): Promise<Row> {
  for (const token of warmUp.slice(0, count)) if (!(await run(token))) throw new Error('a good token was refused');
  const times: number[] = [];
  const before = process.cpuUsage();
  for (const token of measured.slice(0, count)) {
    const start = performance.now();
    await run(token);
    times.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(before);
  times.sort((left, right) => left - right);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { median: at(0.5), p95: at(0.95), cpu: (user + system) / 1000 / times.length };
}

const verify = async (token: string) => (await verifier.verifyInvocation(token)).ok !== undefined;
const rows: [string, Row][] = [
  ['parse alone', await measure(async (token) => (await parseToken(token)).ok !== undefined, rounds)],
  ['first verification', await measure(verify, rounds)],
  ['the same token again', await measure(verify, rounds)],
  ['ucanto extract + validator', await measure(validateWithUcanto, validatorRounds)],
];

const first = rows[1]?.[1].cpu ?? 1;
const print = (name: string, columns: string[]) =>
  console.log(name.padEnd(28) + columns.map((column) => column.padStart(10)).join(''));
print('one invocation, ms', ['median', 'p95', 'cpu', 'cpu ratio']);
for (const [name, { median, p95, cpu }] of rows) {
  print(name, [median.toFixed(4), p95.toFixed(4), cpu.toFixed(4), `${(cpu / first).toFixed(2)}x`]);
}
