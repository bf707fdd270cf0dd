// The agent service is another program; here a small server has its side of the contract, tokens verified for real.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSigner, createVerifier, type Verifier } from '@palaver/ucan';

export interface Agent {
  url: string;
  /** Everything that was asked, with the DID that asked it. */
  asked: { did: string; session: string; message: string; metadata: unknown }[];
  answer(message: string): Promise<string>;
  forgetSessions(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An agent service on a port of its own. */
export async function startAgent(): Promise<Agent> {
  const signer = await createSigner();
  const verifier = createVerifier({ audiences: [signer.did()] });
  const sessions = new Map<string, string>();
  const history = new Map<string, unknown[]>();
  const agent: Agent = {
    url: '',
    asked: [],
    answer: async (message) => `You asked: **${message}**`,
    forgetSessions: () => sessions.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer(async (request, response) => {
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/.well-known/did.json')
      return send(200, { '@context': ['https://www.w3.org/ns/did/v1'], id: signer.did(), verificationMethod: [] });
    const did = await authenticate(verifier, request);
    if (did === undefined)
      return send(401, { statusCode: 401, error: 'Unauthorized', message: 'no', code: 'UCAN_MISSING' });
    const now = new Date().toISOString();
    if (request.url === '/sessions') {
      const sessionId = randomUUID();
      sessions.set(sessionId, did);
      return send(201, {
        sessionId,
        title: 'New chat',
        createdAt: now,
        lastUpdatedAt: now,
        oracleName: 'x',
        oracleDid: signer.did(),
        roomId: 'r',
      });
    }
    const session = request.url?.split(/[/?]/)[2] ?? '';
    if (sessions.get(session) !== did)
      return send(404, { statusCode: 404, error: 'Not Found', message: 'no', code: 'SESSION_NOT_FOUND' });
    if (request.method === 'GET') return send(200, { messages: history.get(session) ?? [], hasOlder: false });
    const { message, metadata } = JSON.parse(await readBody(request)) as { message: string; metadata: unknown };
    agent.asked.push({ did, session, message, metadata });
    const content = await agent.answer(message);
    const requestId = request.headers['x-request-id'] ?? 'r';
    const answer = { id: 'm', type: 'ai', content, createdAt: now, status: 'complete', requestId };
    history.set(session, [...(history.get(session) ?? []), answer]);
    return send(200, { sessionId: session, requestId, message: answer });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  agent.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return agent;
}

async function authenticate(verifier: Verifier, request: IncomingMessage): Promise<string | undefined> {
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined || request.headers['x-auth-type'] !== 'ucan') return undefined;
  const verdict = await verifier.verifyInvocation(token);
  return verdict.ok?.did;
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
