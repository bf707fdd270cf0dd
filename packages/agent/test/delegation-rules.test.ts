// When a delegation signs its issuer in, over HTTP and in the handshake of a socket, and when it no longer does.
import { openStore } from '@palaver/store';
import { engines, searchDatabase, waitFor } from '@palaver/test-kit';
import { type Capability, createDelegation, createSigner, parseToken } from '@palaver/ucan';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOraclePlugin } from '../src/index.ts';
import { openSocket, type TestSocket } from './connect-socket.ts';
import { chatCapability, delegate, request, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const now = () => Math.floor(Date.now() / 1000);
const day = 86_400;
const vault = await createSigner();
const capability = { can: 'vault/open', with: 'ixo:vault' } as const;
const plugin = defineOraclePlugin({
  name: 'vault',
  version: '1.0.0',
  manifest: { title: 'Vault', summary: 'Opens.', whenToUse: ['never'], visibility: 'always', stability: 'stable' },
  getTools: () => ({
    open_vault: {
      description: 'Opens the vault.',
      inputSchema: z.object({}),
      execute: async (_args, rt) => (await rt.ucan.mintInvocation({ audience: vault.did(), capability })).serialized,
    },
    open_own_vault: {
      description: 'Opens the vault of the user.',
      inputSchema: z.object({}),
      async execute(_args, rt) {
        const own = { can: 'vault/open', with: rt.user.did } as const;
        return (await rt.ucan.mintInvocation({ audience: vault.did(), capability: own })).serialized;
      },
    },
  }),
});

const sockets: TestSocket[] = [];
afterEach(() => {
  for (const { socket } of sockets.splice(0)) socket.close();
});

interface Minted {
  raw: string;
  cid: string;
}

async function mint(user: TestUser, audience: string, capabilities: Capability[], lifetime = 3600): Promise<Minted> {
  const { serialized, cid } = await createDelegation({
    issuer: user.signer,
    audience,
    capabilities,
    expiration: now() + lifetime,
  });
  return { raw: serialized, cid };
}

const signIn = (agent: TestAgent, raw: string) =>
  request(`${agent.url}/sessions`, { headers: { 'x-ucan-delegation': raw } });

function connect(agent: TestAgent, sessionId: string, raw: string): TestSocket {
  const socket = openSocket(agent.url, { query: { sessionId }, auth: { ucanDelegation: raw } });
  sockets.push(socket);
  return socket;
}

/** How a handshake is refused. */
async function connectError(socket: TestSocket): Promise<unknown> {
  return await new Promise((resolve) => {
    socket.socket.on('connect_error', (error) => resolve((error as Error & { data?: { code: string } }).data?.code));
    socket.socket.on('connected', () => resolve('connected'));
  });
}

describe.each(engines)('on %s a delegation', (engine) => {
  let agent: TestAgent;
  beforeAll(async () => {
    agent = await startTestAgent({ engine, plugins: [plugin] });
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const grants: [string, (did: string, own: string) => Capability[], number, string | undefined][] = [
    ['everything of this agent', (did) => [{ can: '*', with: did }], day, undefined],
    ['oracle/*', () => [{ can: 'oracle/*', with: 'ixo:oracle' }], day, undefined],
    ['oracle/chat on its own DID', (_did, own) => [{ can: 'oracle/chat', with: own }], day, undefined],
    ['chat beside something else', () => [capability, chatCapability], day, undefined],
    ['chat for 30 days', () => [chatCapability], 30 * day, undefined],
    ['another ability', () => [{ can: 'space/read', with: 'ixo:oracle' }], day, 'UCAN_NOT_ALLOWED'],
    ['everything of another resource', () => [{ can: '*', with: 'ixo:vault' }], day, 'UCAN_NOT_ALLOWED'],
    ['an ability that only begins alike', () => [{ can: 'oracles/x', with: 'ixo:oracle' }], day, 'UCAN_NOT_ALLOWED'],
    ['chat for 31 days', () => [chatCapability], 31 * day, 'UCAN_TTL_TOO_LONG'],
    ['chat for a hundred years', () => [chatCapability], 36_500 * day, 'UCAN_TTL_TOO_LONG'],
  ];

  test.each(grants)('that grants %s', async (_what, grant, lifetime, code) => {
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const { raw } = await mint(ana, agent.did, grant(agent.did, ana.did), lifetime);
    const reply = await signIn(agent, raw);
    expect(reply).toMatchObject(
      code ? { status: 401, body: { code, message: 'Invalid UCAN delegation' } } : { status: 200 },
    );
    expect(await connectError(connect(agent, sessionId, raw))).toBe(code ?? 'connected');
    // It may still be stored and used downstream.
    expect((await ana.send('POST', '/delegation', { raw })).status).toBe(200);
  });

  test('that was sent downstream no longer signs in, here, after a restart and on another instance', async () => {
    await using opened = new AsyncDisposableStack();
    const instances = [agent];
    if (engine === 'postgres') {
      const env = { ORACLE_DID: agent.did };
      instances.push(opened.use(await startTestAgent({ plugins: [plugin], databaseUrl: agent.databaseUrl, env })));
    }
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const { raw } = await mint(ana, agent.did, [chatCapability, capability]);
    for (const instance of instances) expect((await signIn(instance, raw)).status).toBe(200);
    const page = connect(agent, sessionId, raw);
    await page.event('connected');

    const headers = { 'x-ucan-delegation': raw };
    const said = await ana.send('POST', `/messages/${sessionId}`, { message: '/tool open_vault {}' }, headers);
    expect(said.body.message.toolCalls).toMatchObject([{ name: 'open_vault', status: 'done' }]);

    expect(await page.event('error')).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
    await waitFor('the socket to close', () => page.socket.disconnected);
    const refused = { status: 401, body: { code: 'UCAN_NOT_ALLOWED', message: 'Invalid UCAN delegation' } };
    for (const instance of instances) expect(await signIn(instance, raw)).toMatchObject(refused);
    expect(await connectError(connect(agent, sessionId, raw))).toBe('UCAN_NOT_ALLOWED');
    await agent.restart();
    expect(await signIn(agent, raw)).toMatchObject(refused);
    // As a proof it is as good as before.
    const again = await ana.send('POST', `/messages/${sessionId}`, { message: '/tool open_vault {}' }, headers);
    expect(again.body.message.toolCalls).toMatchObject([{ name: 'open_vault', status: 'done' }]);
  });

  test('that was sent downstream does not pass as an invocation either, however short its life', async () => {
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const { raw } = await mint(ana, agent.did, [{ can: '*', with: ana.did }], 600);
    const bearer = { authorization: `Bearer ${raw}`, 'x-auth-type': 'ucan' };
    const list = () => request(`${agent.url}/sessions`, { headers: bearer });
    expect((await list()).status).toBe(200);
    const headers = { 'x-ucan-delegation': raw };
    const said = await ana.send('POST', `/messages/${sessionId}`, { message: '/tool open_own_vault {}' }, headers);
    expect(said.body.message.toolCalls).toMatchObject([{ name: 'open_own_vault', status: 'done' }]);
    expect(await list()).toMatchObject({ status: 401, body: { code: 'UCAN_NOT_ALLOWED' } });
  });

  test('is revoked with every other the user has posted', async () => {
    const [ana, ben] = [await agent.createUser(), await agent.createUser()];
    const sessionId = await ana.createSession();
    const [phone, laptop] = [await delegate(ana.signer, agent.did), await delegate(ana.signer, agent.did)];
    const foreign = await delegate(ben.signer, agent.did);
    for (const raw of [phone, laptop]) await ana.send('POST', '/delegation', { raw });
    await ben.send('POST', '/delegation', { raw: foreign });
    // Posting the second revoked nothing.
    for (const raw of [phone, laptop]) expect((await signIn(agent, raw)).status).toBe(200);
    const page = connect(agent, sessionId, phone);
    await page.event('connected');
    expect((await ana.send('DELETE', '/delegation')).body).toEqual({ ok: true });
    expect(await page.event('error')).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
    for (const raw of [phone, laptop]) {
      expect(await signIn(agent, raw)).toMatchObject({ status: 401, body: { code: 'UCAN_NOT_ALLOWED' } });
      expect(await ana.send('POST', '/delegation', { raw })).toMatchObject({ body: { code: 'DELEGATION_REVOKED' } });
    }
    expect((await signIn(agent, foreign)).status).toBe(200);
  });

  test('is revoked by its CID, posted or not, by its issuer alone', async () => {
    const [ana, eve] = [await agent.createUser(), await agent.createUser()];
    const sessionId = await ana.createSession();
    const posted = await mint(ana, agent.did, [chatCapability]);
    const carried = await mint(ana, agent.did, [chatCapability]);
    const kept = await mint(ana, agent.did, [chatCapability]);
    expect((await ana.send('POST', '/delegation', { raw: posted.raw })).body.cid).toBe(posted.cid);
    const pages = [posted, carried].map(({ raw }) => connect(agent, sessionId, raw));
    for (const page of pages) await page.event('connected');

    for (const { cid } of [posted, carried]) expect((await eve.send('DELETE', `/delegation/${cid}`)).status).toBe(200);
    for (const { raw } of [posted, carried, kept]) expect((await signIn(agent, raw)).status).toBe(200);
    for (const page of pages) expect((await page.ask('ping', 'pong')).eventName).toBe('pong');

    for (const [index, { cid, raw }] of [posted, carried].entries()) {
      expect((await ana.send('DELETE', `/delegation/${cid}`)).body).toEqual({ ok: true });
      expect(await signIn(agent, raw)).toMatchObject({ status: 401, body: { code: 'UCAN_NOT_ALLOWED' } });
      expect(await pages[index]?.event('error')).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
    }
    expect((await ana.send('GET', '/delegation')).body).toEqual({ authorized: false });
    await agent.restart();
    expect((await signIn(agent, carried.raw)).status).toBe(401);
    expect((await signIn(agent, kept.raw)).status).toBe(200);
    expect((await ana.send('DELETE', '/delegation/nonsense!')).status).toBe(400);
  });

  test('stays revoked when its issuer is erased, whether it was ever posted or not, and erased again', async () => {
    const [ana, eve] = [await agent.createUser(), await agent.createUser()];
    const posted = await mint(ana, agent.did, [chatCapability]);
    const carried = await mint(ana, agent.did, [chatCapability]);
    const kept = await mint(ana, agent.did, [chatCapability]);
    await ana.send('POST', '/delegation', { raw: posted.raw });
    for (const { cid } of [posted, carried]) await ana.send('DELETE', `/delegation/${cid}`);
    // Whoever names the CID of another's delegation does not revoke it by being erased.
    await eve.send('DELETE', `/delegation/${kept.cid}`);
    for (const user of [ana, eve, ana]) {
      expect((await user.send('DELETE', '/me')).status).toBe(200);
      for (const { raw } of [posted, carried]) {
        expect(await signIn(agent, raw)).toMatchObject({ status: 401, body: { code: 'UCAN_NOT_ALLOWED' } });
        expect(await ana.send('POST', '/delegation', { raw })).toMatchObject({ body: { code: 'DELEGATION_REVOKED' } });
      }
      expect((await signIn(agent, kept.raw)).status).toBe(200);
      await ana.send('DELETE', `/delegation/${carried.cid}`);
    }
    await ana.send('DELETE', '/me');
    expect(await searchDatabase(agent.databaseUrl, [ana.did])).toEqual([]);
  });

  /** As many revocations of delegations that nobody has seen as a user may have, past the API. */
  async function revokeMadeUp(user: TestUser, count = 1_000, letter = 'a'): Promise<void> {
    expect((await user.send('DELETE', `/delegation/bafy${letter.repeat(20)}`)).status).toBe(200);
    const store = await openStore<never>(agent.databaseUrl);
    await sql`insert into agent_delegation (cid, user_did, agent_did, expires_at, sent_downstream, revoked)
      with recursive copy(number) as (select 1 union all select number + 1 from copy where number < ${sql.lit(count - 1)})
      select cid || 'a' || number, user_did, agent_did, expires_at, sent_downstream, revoked
      from agent_delegation, copy where user_did = ${user.did}`.execute(store.db);
    await store.close();
  }
  const full = { status: 429, body: { code: 'LIMIT_REACHED' } };

  test('are not kept without end, by erasing the user again and again either', async () => {
    const ana = await agent.createUser();
    for (const letter of ['a', 'b']) {
      await revokeMadeUp(ana, 500, letter);
      expect((await ana.send('DELETE', '/me')).status).toBe(200);
    }
    expect(await ana.send('DELETE', `/delegation/bafy${'c'.repeat(20)}`)).toMatchObject(full);
  });

  test('can be revoked, however many were revoked that nobody has seen', async () => {
    const ana = await agent.createUser();
    const posted = await mint(ana, agent.did, [chatCapability]);
    const leaked = await mint(ana, agent.did, [chatCapability]);
    await revokeMadeUp(ana);
    expect((await ana.send('POST', '/delegation', { raw: posted.raw })).status).toBe(200);
    expect((await ana.send('DELETE', `/delegation/${posted.cid}`)).status).toBe(200);
    // It was never seen here either; the reply says what to do.
    const refused = await ana.send('DELETE', `/delegation/${leaked.cid}`);
    expect(refused).toMatchObject(full);
    expect(refused.body.message).toContain('Store the delegation');
    expect((await ana.send('POST', '/delegation', { raw: leaked.raw })).status).toBe(200);
    expect((await ana.send('DELETE', `/delegation/${leaked.cid}`)).status).toBe(200);
    for (const { raw } of [posted, leaked]) expect((await signIn(agent, raw)).status).toBe(401);
    await ana.send('DELETE', '/me');
    for (const { raw } of [posted, leaked]) expect((await signIn(agent, raw)).status).toBe(401);
  });

  test('revokes itself when it signed in, and nothing else', async () => {
    const ana = await agent.createUser();
    const [leaked, kept] = [await mint(ana, agent.did, [chatCapability]), await mint(ana, agent.did, [chatCapability])];
    await ana.send('POST', '/delegation', { raw: kept.raw });
    const revoke = (path: string) =>
      request(`${agent.url}/delegation${path}`, { method: 'DELETE', headers: { 'x-ucan-delegation': leaked.raw } });
    for (const path of ['', `/${kept.cid}`, `/bafy${'a'.repeat(20)}`])
      expect(await revoke(path)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await signIn(agent, kept.raw)).status).toBe(200);
    expect((await revoke(`/${leaked.cid}`)).status).toBe(200);
    expect((await signIn(agent, leaked.raw)).status).toBe(401);
  });

  test('erases its issuer only if it grants that', async () => {
    const ana = await agent.createUser();
    await ana.createSession();
    const erase = async (can: Capability['can'], resource: string = agent.did) => {
      const { raw } = await mint(ana, agent.did, [chatCapability, { can, with: resource } as Capability]);
      return request(`${agent.url}/me`, { method: 'DELETE', headers: { 'x-ucan-delegation': raw } });
    };
    for (const [can, resource] of [['oracle/chat'], ['oracle/erase/some'], ['oracle/*', 'ixo:vault']] as const)
      expect(await erase(can, resource)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await ana.send('GET', '/sessions')).body.total).toBe(1);
    expect((await erase('oracle/*')).status).toBe(200);
    expect((await ana.send('GET', '/sessions')).body.total).toBe(0);
    expect((await erase('oracle/erase', ana.did)).status).toBe(200);
  });

  test('is listed by what was stored beside it, without its token', async () => {
    const ana = await agent.createUser();
    const spend = { can: 'coin/spend', with: ana.did, nb: { most: 5, by: new Uint8Array(2) } };
    const { raw, cid } = await mint(ana, agent.did, [spend]);
    expect((await ana.send('POST', '/delegation', { raw })).status).toBe(200);
    const store = await openStore<never>(agent.databaseUrl);
    await sql`update agent_delegation set sealed = '' where user_did = ${ana.did}`.execute(store.db);
    await store.close();
    const listed = { cid, capabilities: [{ ...spend, nb: { most: 5 } }] };
    expect((await ana.send('GET', '/delegation')).body).toMatchObject({ ...listed, delegations: [listed] });
  });

  test('are revoked together with one line in the audit log, and none when that is repeated', async () => {
    const ana = await agent.createUser();
    for (const _ of [1, 2, 3])
      await ana.send('POST', '/delegation', { raw: (await mint(ana, agent.did, [chatCapability])).raw });
    const { raw, cid } = await mint(ana, agent.did, [chatCapability]);
    await ana.send('POST', '/delegation', { raw });
    for (const path of [`/${cid}`, `/${cid}`, '', '']) await ana.send('DELETE', `/delegation${path}`);
    const { body } = await request(
      `${agent.url}/audit?subject=${encodeURIComponent(ana.did)}&action=delegation.revoked`,
    );
    const lines: { details: object }[] = body.lines;
    expect(lines.map(({ details }) => details)).toEqual([{ count: 3 }, { cid }]);
  });
});

describe('a socket', () => {
  const closed = async (page: TestSocket) => {
    expect(await page.event('error')).toMatchObject({ code: 'UCAN_NOT_ALLOWED' });
    await waitFor('the socket to close', () => page.socket.disconnected);
  };

  test('whose delegation is revoked while it is being admitted does not stay', async () => {
    await using agent = await startTestAgent({ engine: 'postgres' });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const { raw, cid } = await mint(ana, agent.did, [chatCapability]);
    const store = await openStore<never>(agent.databaseUrl);
    await using _closing = { [Symbol.asyncDispose]: () => store.close() };
    // Admission looks the session up after it has verified the token: with the table locked, it waits there.
    const page = await store.transaction(async (trx) => {
      await sql`lock table agent_session in access exclusive mode`.execute(trx);
      const connecting = connect(agent, sessionId, raw);
      await waitFor('the admission to wait for the lock', async () => {
        const { rows } = await sql`select 1 from pg_locks
          where relation = 'agent_session'::regclass and not granted`.execute(store.db);
        return rows.length > 0;
      });
      expect((await ana.send('DELETE', `/delegation/${cid}`)).status).toBe(200);
      return connecting;
    });
    await closed(page);
  });

  test('on another instance closes with its delegation and with its session, without Redis too', async () => {
    const key = (await createSigner()).toSecret();
    const env = { ORACLE_PRIVATE_KEY: key };
    await using one = await startTestAgent({ engine: 'postgres', env });
    await using two = await startTestAgent({ databaseUrl: one.databaseUrl, env });
    const ana = await one.createUser();
    const sessionId = await ana.createSession();
    const { raw, cid } = await mint(ana, one.did, [chatCapability]);
    const page = connect(two, sessionId, raw);
    const other = openSocket(two.url, { query: { sessionId }, auth: { invocation: ana.invocation } });
    sockets.push(other);
    for (const socket of [page, other]) await socket.event('connected');
    await ana.send('DELETE', `/delegation/${cid}`);
    await closed(page);
    expect((await other.ask('ping', 'pong')).eventName).toBe('pong');
    await ana.send('DELETE', `/sessions/${sessionId}`);
    await waitFor('the socket of the session to close', () => other.socket.disconnected);
  });

  test.each(['delegation', 'invocation'])(
    'closes when a proof of the %s that signed it in is revoked',
    async (kind) => {
      await using agent = await startTestAgent({ engine: 'sqlite' });
      const [owner, ana] = [await agent.createUser(), await agent.createUser()];
      const sessionId = await ana.createSession();
      const { raw: lent, cid } = await mint(owner, ana.did, [{ can: 'oracle/*', with: 'ixo:oracle' }]);
      const { ok: proof } = await parseToken(lent);
      const { serialized } = await createDelegation({
        issuer: ana.signer,
        audience: agent.did,
        capabilities: [chatCapability],
        expiration: now() + 600,
        proofs: proof ? [proof] : [],
      });
      const auth = kind === 'delegation' ? { ucanDelegation: serialized } : { invocation: serialized };
      const page = openSocket(agent.url, { query: { sessionId }, auth });
      sockets.push(page);
      await page.event('connected');
      await owner.send('DELETE', `/delegation/${cid}`);
      await closed(page);
    },
  );
});

test('no delegation opens a socket with UCAN_ALLOW_DELEGATION_AUTH=false', async () => {
  await using agent = await startTestAgent({ env: { UCAN_ALLOW_DELEGATION_AUTH: 'false' } });
  const ana = await agent.createUser();
  const raw = await delegate(ana.signer, agent.did);
  expect(await connectError(connect(agent, await ana.createSession(), raw))).toBe('UCAN_MISSING');
});

test('how far ahead it may expire is a setting', async () => {
  await using agent = await startTestAgent({ env: { UCAN_DELEGATION_MAX_TTL_SECONDS: '600' } });
  const ana = await agent.createUser();
  expect((await signIn(agent, (await mint(ana, agent.did, [chatCapability], 600)).raw)).status).toBe(200);
  const long = await mint(ana, agent.did, [chatCapability], 700);
  expect(await signIn(agent, long.raw)).toMatchObject({ status: 401, body: { code: 'UCAN_TTL_TOO_LONG' } });
});
