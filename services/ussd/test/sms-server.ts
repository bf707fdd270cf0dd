import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SmsRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface SmsServer {
  url: string;
  requests: SmsRequest[];
  /** What happens to the next requests; 200 with `answer` otherwise. */
  next: ('cut' | 'hang' | number)[];
  answer: unknown;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The far end of an SMS adapter, which breaks connections on demand. */
export async function startSmsServer(): Promise<SmsServer> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    state.requests.push({ path: request.url ?? '', headers: request.headers, body });
    const next = state.next.shift();
    if (next === 'hang') return;
    if (next === 'cut') response.destroy();
    else response.writeHead(next ?? 200).end(JSON.stringify(state.answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const state: SmsServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    next: [],
    answer: {},
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return state;
}
