import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '@palaver/test-kit';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as ucan from '../src/index.ts';
import { unwrap } from './tokens.ts';

type Browser = Awaited<ReturnType<typeof launchBrowser>>;

const html = `<!doctype html><script type="module">import * as ucan from '/ucan.js'; globalThis.ucan = ucan;</script>`;

let script: string;
let server: Server;
let browser: Browser;
let page: Awaited<ReturnType<Browser['newPage']>>;

beforeAll(async () => {
  script = await bundle();
  server = createServer((request, response) => {
    const isScript = request.url === '/ucan.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : html);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  browser = await launchBrowser();
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

async function bundle(): Promise<string> {
  const entry = fileURLToPath(new URL('../src/index.ts', import.meta.url));
  const output = (await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, lib: { entry, formats: ['es'], fileName: 'ucan' } },
  })) as Rolldown.RolldownOutput[];
  return output[0]?.output[0].code ?? '';
}

describe('in a browser', () => {
  it('nothing of Node is bundled', () => {
    expect(script).not.toMatch(/node:|require\(/);
    expect(script).toContain('subtle');
  });

  it('mints and verifies, refuses a changed byte, and agrees with Node', async () => {
    const agent = await ucan.createSigner();
    const mintedHere = await ucan.createInvocation({
      issuer: await ucan.createSigner(),
      audience: agent.did(),
      capability: { can: 'oracle/chat', with: agent.did() },
    });
    const there = await page.evaluate(
      async ({ audience, foreign }) => {
        const { ucan } = globalThis as unknown as { ucan: typeof import('../src/index.ts') };
        const [owner, user] = [await ucan.createSigner(), await ucan.createSigner()];
        const capability = { can: 'oracle/chat', with: 'ixo:oracle' };
        const granted = await ucan.createDelegation({
          issuer: owner,
          audience: user.did(),
          capabilities: [capability],
        });
        const proof = (await ucan.parseToken(granted.serialized)).ok;
        if (!proof) throw new Error('the delegation does not parse');
        const options = { issuer: user, audience, capability, proofs: [proof] };
        const { serialized } = await ucan.createInvocation(options);
        const changed = serialized.slice(0, 400) + (serialized[400] === 'A' ? 'B' : 'A') + serialized.slice(401);
        const verifier = ucan.createVerifier({ audiences: [audience] });
        const own = await verifier.verifyInvocation(serialized);
        return {
          secret: user.toSecret(),
          serialized,
          own: own.ok?.did,
          again: (await verifier.verifyInvocation(serialized)) === own,
          changed: (await verifier.verifyInvocation(changed)).error?.code,
          foreign: (await verifier.verifyInvocation(foreign)).ok?.cid,
          derived: (await ucan.deriveSigner({ secret: new Uint8Array(32).fill(7), label: 'x' })).did(),
        };
      },
      { audience: agent.did(), foreign: mintedHere.serialized },
    );
    const user = unwrap(await ucan.parseSigner(there.secret));
    expect(there).toMatchObject({ own: user.did(), again: true, changed: 'UCAN_MALFORMED', foreign: mintedHere.cid });
    expect(there.derived).toBe((await ucan.deriveSigner({ secret: new Uint8Array(32).fill(7), label: 'x' })).did());
    const verifier = ucan.createVerifier({ audiences: [agent.did()] });
    expect(unwrap(await verifier.verifyInvocation(there.serialized))).toMatchObject({
      did: user.did(),
      view: { proofs: [{}] },
    });
  });
});
