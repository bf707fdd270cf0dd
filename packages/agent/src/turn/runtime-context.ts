import { agentLimits, type Message } from '@palaver/contract';
import { didDocumentSchema, phoneContextSchema, reauthorizeComponentName } from '@palaver/contract/internal';
import { type Logger, traceHeaders } from '@palaver/service-kit';
import { fetchBounded, isJsonTooDeep } from '@palaver/service-kit/internal';
import { type Capability, parseToken, type Signer, type UcanView } from '@palaver/ucan';
import { findExpiration, hasCapability, listChain, mintDownstream } from '@palaver/ucan/internal';
import type { BrowserCall, SessionClients } from '../cluster/session-clients.ts';
import { type RuntimeContext, ToolError } from '../define/runtime-context.ts';
import type { PluginHost } from '../define/start-plugins.ts';
import type { ModelRole, Models } from '../models/create-models.ts';
import type { Turn } from '../runs/input.ts';
import type { Run } from '../runs/run.ts';
import type { DelegationStore } from '../store/delegations.ts';

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
  stored: { token: string; view: UcanView }[];
  /** Whether the user may be asked to authorise again now; asking is rare on purpose. */
  mayAskAgain(): boolean;
  resolveServiceDid(url: string): Promise<string>;
  logger: Logger;
}

type ClientCall = Pick<BrowserCall, 'toolCallId' | 'toolName' | 'args'>;

export async function createRuntimeContext(parts: RuntimeContextParts): Promise<RuntimeContext> {
  const { turn, run, stored } = parts;
  const { sessionId, requestId } = run;
  const where = { sessionId, requestId };
  const { delegation } = turn.user;
  const { ok: sent } = delegation === undefined ? {} : await parseToken(delegation);
  // The message may have waited since it was sent.
  const isRevoked = sent && (await parts.delegations.findStanding(listChain(sent))) === 'revoked';
  const views = new Set([...(sent && !isRevoked ? [sent] : []), ...stored.map(({ view }) => view)]);
  const { data: phone } = phoneContextSchema.safeParse(turn.body.metadata);
  const availablePlugins = parts.plugins.loaded.map(({ name }) => name);

  const caller = { ...where, userDid: turn.user.did, socketId: turn.socketId, signal: run.signal };
  const toBrowserCall = (event: BrowserCall['event'], { toolCallId, toolName, args }: ClientCall): BrowserCall => {
    const call = { toolCallId, toolName, args };
    return { ...call, ...caller, event };
  };
  // The outcome of a delivery is for whoever waits for the result; the call is in the stream either way.
  const deliver = (event: BrowserCall['event'], call: ClientCall) =>
    void parts.browserCalls.deliver(toBrowserCall(event, call)).catch(() => {});

  const rt: RuntimeContext = {
    user: {
      did: turn.user.did,
      delegation: (isRevoked ? undefined : delegation) ?? stored[0]?.token,
      timezone: turn.timezone,
      currentTime: new Date().toISOString(),
    },
    session: { id: sessionId, requestId, roomId: turn.session.roomId, runId: run.runId, sendId: turn.sendId },
    ...(phone && { phone }),
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
    schedule: (wanted) => parts.plugins.schedule(wanted, rt),
    callBrowser: (event, call) => parts.browserCalls.call(toBrowserCall(event, call)),
    logger: parts.logger.child({ requestId, runId: run.runId }),
    abortSignal: run.signal,
    shared: parts.plugins.createShared(),
    toolCallId: undefined,
    reportProgress: () => undefined,
    usage: run.usageByModel,
    traceHeaders,
  };
  return rt;
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

export function toReauthorizePrompt({ sessionId, requestId, runId }: Run, { can, with: resource, nb }: Capability) {
  return {
    sessionId,
    requestId,
    eventId: `${runId}-reauthorize`,
    componentName: reauthorizeComponentName,
    args: { capability: can, resource, ...(nb && { nb }) },
    status: 'done' as const,
  };
}

const didDocumentTimeoutMs = 3_000;

export async function resolveServiceDid(url: string): Promise<string> {
  const reply = await fetchBounded(new URL('/.well-known/did.json', url), { timeoutMs: didDocumentTimeoutMs });
  if (!reply.ok) throw new Error(`${url} has no DID document (${reply.status})`);
  return didDocumentSchema.parse(await reply.json()).id;
}

export interface BrowserResult extends Pick<BrowserCall, 'sessionId' | 'userDid' | 'toolCallId'> {
  result?: unknown;
  error?: string | undefined;
}

export type BrowserCalls = ReturnType<typeof createBrowserCalls>;

type Pending = Pick<BrowserCall, 'sessionId' | 'userDid'> & Omit<PromiseWithResolvers<unknown>, 'promise'>;

/** Round trips to pages: each request is sent once, to one socket, and waits for the one answer that is its own. */
export function createBrowserCalls(timeoutMs: number, clients: Pick<SessionClients, 'deliver'>) {
  const pending = new Map<string, Pending>();
  const deliveries = new WeakMap<AbortSignal, Map<string, Promise<boolean>>>();

  /** Sends a call to a page, once in its run however often it is asked for; false if no page is connected. */
  function deliver(call: BrowserCall): Promise<boolean> {
    const ofRun = deliveries.get(call.signal) ?? new Map<string, Promise<boolean>>();
    deliveries.set(call.signal, ofRun);
    const sent = ofRun.get(call.toolCallId) ?? clients.deliver(call);
    ofRun.set(call.toolCallId, sent);
    return sent;
  }

  return {
    deliver,

    async call(call: BrowserCall): Promise<unknown> {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      pending.set(call.toolCallId, { sessionId: call.sessionId, userDid: call.userDid, resolve, reject });
      const onAbort = () => reject(call.signal.reason);
      const onTimeout = () =>
        reject(new ToolError('TOOL_TIMEOUT', `the page did not answer within ${timeoutMs / 1000} s`));
      const timer = setTimeout(onTimeout, timeoutMs);
      call.signal.addEventListener('abort', onAbort, { once: true });
      promise.catch(() => {}); // the delivery below may fail first
      try {
        if (!(await deliver(call))) throw new ToolError('BROWSER_NOT_CONNECTED', 'no page of the user is connected');
        return await promise;
      } finally {
        pending.delete(call.toolCallId);
        clearTimeout(timer);
        call.signal.removeEventListener('abort', onAbort);
      }
    },

    /** Takes a result in; false for one that nobody here waits for: late, repeated, foreign or of another instance's call. */
    settle({ sessionId, userDid, toolCallId, result, error }: BrowserResult): boolean {
      const waiting = pending.get(toolCallId);
      if (!waiting || waiting.sessionId !== sessionId || waiting.userDid !== userDid) return false;
      pending.delete(toolCallId);
      if (error) waiting.reject(new ToolError('TOOL_FAILED', error.slice(0, 2_000)));
      else if (isTooLarge(result)) waiting.reject(new ToolError('TOOL_RESULT_TOO_LARGE', tooLarge));
      else waiting.resolve(result ?? null);
      return true;
    },
  };
}

const tooLarge = `the result is larger than ${agentLimits.toolResultBytes / 1024} KiB or nested too deep`;

function isTooLarge(result: unknown): boolean {
  try {
    const json = JSON.stringify(result) ?? '';
    return Buffer.byteLength(json) > agentLimits.toolResultBytes || isJsonTooDeep(json);
  } catch {
    return true; // too deep to measure its size
  }
}
