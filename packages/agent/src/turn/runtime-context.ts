import type { Message, SendMessage, SseEventData } from '@palaver/contract';
import { didDocumentSchema, phoneContextSchema, reauthorizeComponentName } from '@palaver/contract/internal';
import { type Logger, traceHeaders } from '@palaver/service-kit';
import { fetchBounded } from '@palaver/service-kit/internal';
import { type Capability, parseToken, type Signer, type UcanView } from '@palaver/ucan';
import { findExpiration, hasCapability, listChain, mintDownstream } from '@palaver/ucan/internal';
import type { BrowserCall, SessionClients } from '../cluster/session-clients.ts';
import { type RuntimeContext, ToolError } from '../define/runtime-context.ts';
import type { PluginHost } from '../define/start-plugins.ts';
import type { ModelRole, Models } from '../models/create-models.ts';
import type { Turn } from '../runs/input.ts';
import type { Run } from '../runs/run.ts';
import type { DelegationStore } from '../store/delegations.ts';
import type { BrowserCalls } from './browser-calls.ts';

export interface RuntimeContextParts {
  turn: Turn;
  run: Run;
  history: Message[];
  /** On-demand plugins loaded earlier than the history goes back. */
  capabilities: string[];
  plugins: PluginHost;
  models: Models;
  signer: Signer;
  browserCalls: BrowserCalls;
  clients: Pick<SessionClients, 'notify' | 'dropDelegation'>;
  delegations: Pick<DelegationStore, 'markSent' | 'findStanding'>;
  /** The user's stored delegations, the one posted last first. */
  stored: { token: string; view: UcanView }[];
  /** Whether the user may be asked to authorise again now; asking is rare on purpose. */
  mayAskAgain(): boolean;
  resolveServiceDid(url: string): Promise<string>;
  logger: Logger;
}

type ClientCall = Pick<BrowserCall, 'toolCallId' | 'toolName' | 'args'>;

/** What plugins see of one turn. */
export async function createRuntimeContext(parts: RuntimeContextParts): Promise<RuntimeContext> {
  const { turn, run, stored } = parts;
  const { sessionId, requestId } = run;
  const where = { sessionId, requestId };
  const { delegation } = turn.user;
  const { ok: sent } = delegation === undefined ? {} : await parseToken(delegation);
  // The message may have waited since it was sent.
  const isRevoked = sent && (await parts.delegations.findStanding(listChain(sent))) === 'revoked';
  const views = new Set([...(sent && !isRevoked ? [sent] : []), ...stored.map(({ view }) => view)]);
  const availablePlugins = parts.plugins.loaded.map(({ name }) => name);

  const toBrowserCall = (event: BrowserCall['event'], { toolCallId, toolName, args }: ClientCall): BrowserCall => ({
    ...{ toolCallId, toolName, args, ...where, event },
    ...{ userDid: turn.user.did, socketId: turn.socketId, signal: run.signal },
  });
  // The outcome of a delivery is for whoever waits for the result; the call is in the stream either way.
  const deliver = (event: BrowserCall['event'], call: ClientCall) =>
    void parts.browserCalls.deliver(toBrowserCall(event, call)).catch(() => {});

  return {
    user: {
      did: turn.user.did,
      delegation: (isRevoked ? undefined : delegation) ?? stored[0]?.token,
      timezone: turn.timezone,
      currentTime: new Date().toISOString(),
    },
    session: { id: sessionId, requestId, roomId: turn.session.roomId, runId: run.runId, sendId: turn.sendId },
    ...toPhone(turn.body),
    message: turn.body,
    history: parts.history,
    availablePlugins,
    loadedPlugins: parts.capabilities.filter((name) => availablePlugins.includes(name)),
    secrets: turn.secrets,
    client: turn.client,
    blobStore: turn.blobs,
    ucan: createUcanTools(parts, views),
    llm: { get: (role: ModelRole) => parts.models.get(role) },
    emit: {
      toolCall: (data) => run.emit('tool_call', { ...where, ...data }),
      actionCall(data) {
        run.emit('action_call', { ...where, ...data });
        if (data.status === 'isRunning') deliver('action_call', data);
      },
      renderComponent: (data) => run.emit('render_component', { ...where, ...data }),
      reasoning: (data) => run.emit('reasoning', { ...where, ...data }),
      browserToolCall(data) {
        run.emit('browser_tool_call', { ...where, ...data });
        if (data.status === 'isRunning') deliver('browser_tool_call', data);
      },
      router: (data) => run.emit('router_update', { ...where, ...data }),
      messageCacheInvalidation: (messageId) =>
        parts.clients.notify(sessionId, 'message_cache_invalidation', { sessionId, ...(messageId && { messageId }) }),
    },
    callBrowser: (event, call) => parts.browserCalls.call(toBrowserCall(event, call)),
    logger: parts.logger.child({ requestId, runId: run.runId }),
    abortSignal: run.signal,
    shared: parts.plugins.createShared(),
    toolCallId: undefined,
    reportProgress: () => undefined,
    usage: run.usageByModel,
    traceHeaders,
  };
}

function createUcanTools(parts: RuntimeContextParts, views: Set<UcanView>): RuntimeContext['ucan'] {
  const { run, signer } = parts;
  // Asked on every use: the turn may have waited since the delegation was checked.
  const find = (capability: Capability) =>
    [...views].find((view) => findExpiration(view) * 1000 > Date.now() && hasCapability(view, capability));
  const confirm = async (capability: Capability): Promise<UcanView | undefined> => {
    for (let view = find(capability); view; view = find(capability)) {
      if ((await parts.delegations.findStanding(listChain(view))) !== 'revoked') return view;
      views.delete(view);
    }
    return undefined;
  };
  const orThrow = (view: UcanView | undefined, capability: Capability) => {
    if (view) return view;
    if (parts.mayAskAgain()) run.emit('render_component', toReauthorizePrompt(run, capability));
    throw new ToolError('REAUTHORIZATION_REQUIRED', 'the user has to authorise this agent again; ask them to');
  };
  return {
    hasCapability: (capability) => find(capability) !== undefined,
    confirmCapability: async (capability) => (await confirm(capability)) !== undefined,
    requireCapability: (capability) => void orThrow(find(capability), capability),
    async mintInvocation({ audience, capability, lifetimeSeconds = 60 }) {
      const delegation = orThrow(await confirm(capability), capability);
      // Its audience is the agent's key or its entity; only that one can act under it.
      const issuer = signer.withDid(delegation.audience);
      const minted = await mintDownstream({ issuer, audience, capability, lifetimeSeconds, delegation });
      if (!minted.ok) throw new ToolError('REAUTHORIZATION_REQUIRED', minted.error.message);
      // Before the token is returned: its recipient then has the delegation too.
      if (await parts.delegations.markSent(delegation))
        parts.clients.dropDelegation({ did: delegation.issuer, cid: delegation.cid, standing: 'shared' });
      return minted.ok;
    },
    resolveServiceDid: parts.resolveServiceDid,
  };
}

export function toReauthorizePrompt(
  { sessionId, requestId, runId }: Run,
  { can, with: resource, nb }: Capability,
): SseEventData['render_component'] {
  const eventId = `${runId}-reauthorize`;
  return {
    sessionId,
    requestId,
    eventId,
    componentName: reauthorizeComponentName,
    args: { capability: can, resource, ...(nb && { nb }) },
    status: 'done',
  };
}

function toPhone({ metadata }: SendMessage): Pick<RuntimeContext, 'phone'> {
  const phone = phoneContextSchema.safeParse(metadata);
  return phone.success ? { phone: phone.data } : {};
}

const didDocumentTimeoutMs = 3_000;

/** The DID of a service, from its own `/.well-known/did.json`. */
export async function resolveServiceDid(url: string): Promise<string> {
  const reply = await fetchBounded(new URL('/.well-known/did.json', url), { timeoutMs: didDocumentTimeoutMs });
  if (!reply.ok) throw new Error(`${url} has no DID document (${reply.status})`);
  return didDocumentSchema.parse(await reply.json()).id;
}
