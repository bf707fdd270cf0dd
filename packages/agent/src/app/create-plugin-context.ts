import type { Store } from '@palaver/store';
import { deriveSigner } from '@palaver/ucan';
import type { FastifyRequest } from 'fastify';
import { deriveKey } from '../auth/seal.ts';
import type { AgentConfig } from '../config.ts';
import type { OraclePlugin } from '../define/plugin.ts';
import type { PluginContext } from '../define/plugin-context.ts';
import type { LoadedPlugin } from '../define/select-plugins.ts';
import type { PublicTool } from '../define/tool.ts';
import { toInputSchema } from '../define/tool-arguments.ts';
import type { RunAccess } from '../runs/access.ts';
import type { MessageStore } from '../store/messages.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { type SessionStore, toRoomId } from '../store/sessions.ts';
import type { AgentIdentity } from './create-identity.ts';

interface PluginContextParts
  extends Pick<PluginContext, 'logger' | 'models' | 'clientKey' | 'publicTools' | 'senderOf'> {
  config: Pick<AgentConfig, 'PUBLIC_URL'>;
  pluginConfig: Record<string, unknown>;
  store: Store<AgentDatabase>;
  identity: AgentIdentity;
  sessions: SessionStore;
  messages: MessageStore;
  access: RunAccess;
  /** Resolves once runs can begin. */
  whenReady: Promise<void>;
}

/** What a plugin gets when the application starts. */
export function createPluginContext(plugin: OraclePlugin, parts: PluginContextParts): PluginContext {
  const { identity, models, access, whenReady } = parts;
  const secret = identity.signer.toSecret();
  return {
    config: parts.pluginConfig,
    logger: parts.logger.child({ plugin: plugin.name }),
    store: parts.store,
    audit: identity.audit,
    oracle: identity.oracle,
    models,
    shared: (rt) => rt.shared,
    llm: { get: models.get },
    sessions: parts.sessions,
    messages: parts.messages,
    deriveDid: async (label) => (await deriveSigner({ secret: Buffer.from(secret), label })).did(),
    deriveKey: (label) => deriveKey(secret, `plugin ${plugin.name} ${label}`),
    send: async ({ text, ...message }) => {
      await whenReady;
      return access.send({ ...message, body: { message: text, stream: false, returnAllMessages: false } });
    },
    open: async ({ key, ...message }) => {
      await whenReady;
      return access.open({ ...message, key: key === undefined ? undefined : `${plugin.name} ${key}` });
    },
    resume: (run) => whenReady.then(() => access.resume(run)),
    listRuns: (query) => whenReady.then(() => access.listRuns(query)),
    answerApproval: (answer) => whenReady.then(() => access.answerApproval(answer)),
    liveRun: (session) => whenReady.then(() => access.liveRun(session)),
    publicTools: parts.publicTools,
    roomOf: (userDid) => toRoomId(userDid, identity.oracle.did),
    urlOf: (request) => parts.config.PUBLIC_URL ?? addressOf(request),
    clientKey: parts.clientKey,
    senderOf: parts.senderOf,
  };
}

/** The tools that other agents are shown. */
export function listPublicTools(plugins: LoadedPlugin[]): PublicTool[] {
  return plugins
    .filter(({ manifest }) => manifest.visibility !== 'on-demand')
    .flatMap(({ tools }) => Object.entries(tools))
    .filter(([, tool]) => tool.public)
    .map(([name, tool]) => ({ name, description: tool.description, inputSchema: toInputSchema(tool) }));
}

/** What a request was sent to. */
function addressOf(request: FastifyRequest): string {
  const host = /^[\w.:[\]-]+$/.test(request.host) ? request.host : 'localhost';
  return `${request.protocol}://${host}`;
}
