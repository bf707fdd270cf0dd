import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface RecordedReplies {
  /** Stops recording. Throws where a reply had a status or content type that the OpenAPI document does not name. */
  compare(document: unknown): void;
}

type Operation = { responses: Record<string, { content?: Record<string, unknown> }> };
type Paths = Record<string, Record<string, Operation>>;

const channel = 'http.server.response.finish';

/** Records what a server of this process answers, by its address. Routes that are not in its document are not looked at. */
export function recordReplies(url: string): RecordedReplies {
  const port = Number(new URL(url).port);
  const replies = new Map<string, { method: string; path: string; status: number; type: string }>();
  const record = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.socket.localPort !== port) return;
    const [path = ''] = (request.url ?? '').split('?');
    const [type = ''] = String(response.getHeader('content-type') ?? '').split(';');
    const reply = { method: request.method ?? '', path, status: response.statusCode, type };
    replies.set(JSON.stringify(reply), reply);
  };
  subscribe(channel, record);
  return {
    compare(document) {
      unsubscribe(channel, record);
      const faults = [...replies.values()].flatMap((reply) => findFault((document as { paths: Paths }).paths, reply));
      if (faults.length > 0) throw new Error(`Replies that the OpenAPI document does not name:\n${faults.join('\n')}`);
    },
  };
}

function findFault(paths: Paths, reply: { method: string; path: string; status: number; type: string }): string[] {
  const { method, path, status, type } = reply;
  const isStatic = (one: string) => Number(!one.includes('{'));
  const [found] = Object.keys(paths)
    .filter((one) => toPattern(one).test(path))
    .sort((a, b) => isStatic(b) - isStatic(a));
  const operation = paths[found ?? '']?.[method.toLowerCase()];
  if (!operation) return [];
  const documented = operation.responses[status];
  if (!documented) return [`${method} ${found}: ${status}`];
  if (type === '' || status === 304 || [type, '*/*'].some((one) => Object.hasOwn(documented.content ?? {}, one)))
    return [];
  return [`${method} ${found}: ${status} as ${type}`];
}

function toPattern(path: string): RegExp {
  const source = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}
