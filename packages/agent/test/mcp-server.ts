import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

export interface SessionMcpServer extends AsyncDisposable {
  url: string;
  /** The JSON-RPC methods that came, in order. */
  methods: string[];
  /** Forgets every session, as a restart does. */
  forget(): void;
  /** Answers a request in its own way where it returns true. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came over the wire.
  handle?: ((body: any, response: ServerResponse) => boolean) | undefined;
}

export interface SessionMcpOptions {
  addTools(server: McpServer): void;
  /** The status of a request in a session it does not know; the protocol asks for 404, some servers say 400. */
  unknownSession?: 400 | 404;
  json?: boolean;
}

/** An MCP server over HTTP that keeps sessions, as most do. */
export async function startSessionMcpServer({
  addTools,
  unknownSession = 404,
  json = false,
}: SessionMcpOptions): Promise<SessionMcpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();

  async function openSession(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: json,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    const mcp = new McpServer({ name: 'test', version: '1.0.0' });
    addTools(mcp);
    await mcp.connect(transport);
    return transport;
  }

  const http = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = text === '' ? undefined : JSON.parse(text);
    if (body?.method) server.methods.push(body.method);
    if (server.handle?.(body, response)) return;
    const id = String(request.headers['mcp-session-id'] ?? '');
    const transport = body?.method === 'initialize' ? await openSession() : sessions.get(id);
    if (transport) return transport.handleRequest(request, response, body);
    const error = { code: -32_001, message: 'Session not found' };
    response.writeHead(unknownSession, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const server: SessionMcpServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    methods: [],
    forget: () => sessions.clear(),
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}
