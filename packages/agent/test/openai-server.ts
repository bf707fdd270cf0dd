import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelRequest {
  path: string;
  headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came over the wire.
  body: any;
  /** Resolves when the caller has hung up or the answer is through. */
  closed: Promise<unknown>;
}

export type Answer = (response: ServerResponse, request: ModelRequest) => unknown;

export type OpenAiServer = Awaited<ReturnType<typeof startOpenAiServer>>;

/** A server that speaks OpenAI's streaming protocol. `answers` are given in order, the last one from then on. */
export async function startOpenAiServer(...answers: [Answer, ...Answer[]]) {
  const requests: ModelRequest[] = [];
  const server = createServer(async (incoming, response) => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    const request = {
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: text === '' ? undefined : JSON.parse(text),
      closed: once(response, 'close'),
    };
    requests.push(request);
    const answer = answers[Math.min(requests.length, answers.length) - 1] as Answer;
    await answer(response, request);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    url,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

export function toChunk(delta: object, finish: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  return toFrame({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] });
}

export function toFrame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function endStream(response: ServerResponse, finish = 'stop'): void {
  const last = toFrame({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage });
  response.end(`${toChunk({}, finish)}${last}data: [DONE]\n\n`);
}

/** Says the pieces, one chunk each. */
export function say(...pieces: string[]): Answer {
  return (response) => {
    openStream(response);
    for (const content of pieces) response.write(toChunk({ content }));
    endStream(response);
  };
}

/** Asks for tools; the arguments come in fragments of `size` characters, as providers send them. */
export function callTools(calls: { name: string; args: string; id?: string }[], size = 3): Answer {
  return (response) => {
    openStream(response);
    for (const [index, { name, args, id = `call_${index}` }] of calls.entries()) {
      const call = { index, id, type: 'function', function: { name, arguments: '' } };
      response.write(toChunk({ role: 'assistant', tool_calls: [call] }));
      for (let at = 0; at < args.length; at += size) {
        const fragment = { index, function: { arguments: args.slice(at, at + size) } };
        response.write(toChunk({ tool_calls: [fragment] }));
      }
    }
    endStream(response, 'tool_calls');
  };
}

export function refuse(status: number, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { message: `no (${status})`, type: 'x', code: 'x' } }));
  };
}
