// The agent on a real port, behind a small proxy that signs in for the suites, which send no UCAN.
import { createServer, request as send } from 'node:http';
import type { OraclePlugin } from '@palaver/agent';
import { freePort } from '@palaver/test-kit';
import { startTestAgent } from '../../packages/agent/test/test-agent.ts';

export interface LiveAgent extends AsyncDisposable {
  /** Of the proxy. */
  url: string;
}

export interface LiveAgentOptions {
  plugins?: OraclePlugin[];
  env?: Record<string, string>;
  /** May replace the body of a request. `call` sends one of its own as the same user. */
  rewrite?(body: string, call: (path: string, body: object) => Promise<Response>): Promise<string>;
}

export async function startLiveAgent({ plugins = [], env, rewrite }: LiveAgentOptions = {}): Promise<LiveAgent> {
  const opened = new AsyncDisposableStack();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const agent = opened.use(await startTestAgent({ plugins, env: { PUBLIC_URL: url, ...env } }));
  const { invocation } = await agent.createUser();
  const signIn = { authorization: `Bearer ${invocation}`, 'x-auth-type': 'ucan' };
  const call = (path: string, body: object) =>
    fetch(`${agent.url}${path}`, {
      method: 'POST',
      headers: { ...signIn, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const proxy = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const sent = Buffer.concat(chunks);
    const body = rewrite && sent.length > 0 ? Buffer.from(await rewrite(sent.toString(), call)) : sent;
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = request.headers;
    const length = sent.length > 0 ? { 'content-length': String(body.length) } : {};
    const forwarded = send(`${agent.url}${request.url}`, {
      method: request.method,
      headers: { ...headers, ...signIn, ...length },
    });
    forwarded.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    forwarded.end(body);
  });
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  opened.defer(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
