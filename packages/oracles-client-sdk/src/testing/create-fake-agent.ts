import { createCredentialCache, type Sign } from '../core/credentials.ts';
import { createRandomId } from '../core/random-id.ts';
import type { OpenSocket } from '../core/socket-channel.ts';
import { createTransport } from '../core/transport.ts';
import { createFakeRoutes, createFakeSessions } from './fake-routes.ts';
import type { ClientOutcome, FakeAgentOptions, FakeMessage } from './fake-run.ts';

export type FakeAgent = ReturnType<typeof createFakeAgent>;

/**
 * An agent for tests of pages: no network, no server, answers from a script. It keeps sessions and messages, streams, resumes,
 * aborts, asks for approval and calls tools of the page as an agent does.
 *
 * @example
 * ```ts
 * import { createAgentApi, createChat } from '@palaver/oracles-client-sdk/core';
 * import { createFakeAgent } from '@palaver/oracles-client-sdk/testing';
 *
 * const agent = createFakeAgent({
 *   answers: ['Hello!', ['It is ', { toolCall: { name: 'weather', output: 'rain' } }, 'raining.']],
 * });
 * const { sessionId } = await createAgentApi(agent.transport).createSession();
 * const chat = createChat({ transport: agent.transport, socketUrl: agent.url, sessionId });
 * await chat.send('Good morning');
 * ```
 */
export function createFakeAgent({ answers = [], models = [] }: FakeAgentOptions = {}) {
  const id = createRandomId();
  const oracleDid = `did:example:agent-${id}`;
  const userDid = `did:example:user-${id}`;
  const url = `http://agent-${id}.invalid`;
  const transactions: unknown[][] = [];
  const sessions = createFakeSessions(oracleDid);
  const messages: FakeMessage[] = [];
  const route = createFakeRoutes({ sessions, models, messages, answers });

  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const request = input instanceof Request ? input : undefined;
    const address = new URL(request?.url ?? String(input));
    if (address.origin !== url) throw new TypeError(`The fake agent is asked for ${address.href}.`);
    init.signal?.throwIfAborted();
    return route({
      method: init.method ?? request?.method ?? 'GET',
      path: address.pathname,
      query: address.searchParams,
      body: typeof init.body === 'string' ? JSON.parse(init.body) : init.body,
      headers: new Headers(init.headers ?? request?.headers),
      signal: init.signal,
    });
  };
  const openSocket: OpenSocket = (options) => {
    let isOpen = true;
    const leave = sessions.connect(options);
    queueMicrotask(() => {
      if (!isOpen) return;
      options.onConnected(true);
      const { sessionId } = options;
      const payload = { sessionId, did: userDid, socketId: createRandomId(), timestamp: new Date().toISOString() };
      options.onEvent({ eventName: 'connected', payload });
    });
    return {
      emit: (_event, { toolCallId, ...outcome }) => sessions.takeOutcome(String(toolCallId), outcome as ClientOutcome),
      connect: () => {},
      socketId: () => undefined,
      close() {
        isOpen = false;
        leave();
        options.onConnected(false);
      },
    };
  };

  const sign: Sign = async () => ({ serialized: `signed-${id}`, expiresAt: Date.now() / 1000 + 3600 });
  const credentials = createCredentialCache({ userDid, createDelegation: sign, createInvocation: sign });
  return {
    oracleDid,
    /** For `socketUrl` of `createChat`. */
    url,
    messages: messages as readonly FakeMessage[],
    /** What the page's wallet was asked to sign and broadcast. */
    transactions: transactions as readonly unknown[][],
    /** For `createChat` and `createAgentApi` of `/core`. */
    transport: createTransport({ baseUrl: url, oracleDid, credentials, userDid, fetch, openSocket }),
    /** Properties for `OraclesProvider`: a user who is signed in, and this agent in place of the network. */
    provider: {
      initialWallet: { address: 'fake1user', did: userDid, matrix: { accessToken: '', homeServer: '' } },
      transactSignX: async (signed: unknown[]): Promise<unknown> => {
        transactions.push(signed);
        return { code: 0 };
      },
      createDelegation: sign,
      createInvocation: sign,
      oracleDid,
      overrides: { baseUrl: url },
      fetch,
      openSocket,
    },
    /** Sends an event to the sockets of one session, or of all. */
    emit: sessions.emit,
  };
}
