// One subscription upstream for each query, on a connection of its own: nodes allow only a few on one.

import type { Logger } from '@palaver/service-kit';
import { splitCredentials } from '@palaver/service-kit/internal';
import type { GatewayMetrics } from '../metrics.ts';
import { parseNodeReply } from './rpc-client.ts';

export interface EventListener {
  onEvent(result: string): void;
  /** The node is gone, or ended the subscription: events may be missing from here on. */
  onLost(): void;
}

/** `client`: this client has its share; `full`: the gateway has none left; `node`: the node refused; `outage`: it is unreachable. */
export type SubscriptionRefusal = 'client' | 'full' | 'node' | 'outage';

type Subscribed = { ok: true; leave(): void } | { ok: false; reason: SubscriptionRefusal; message: string };

export interface SubscriptionOptions {
  rpcUrl: string;
  logger: Logger;
  metrics: Pick<GatewayMetrics, 'countRefusedSubscription' | 'watchSubscriptions'>;
  /** How long a node may be silent before it is asked for a sign of life, and how long it then has to answer. */
  silenceMs?: number;
}

interface Subscription {
  listeners: Set<EventListener>;
  /** What went wrong; undefined when the node has confirmed. */
  ready: Promise<Fault | undefined>;
  socket: WebSocket;
}

interface Fault {
  reason: 'node' | 'outage';
  message: string;
}

/** Nodes admit 100 subscribing connections by default. */
const maxQueries = 90;
const maxQueriesOfClient = 20;
/** The longest query that nodes take. */
const maxQueryLength = 512;
const openTimeoutMs = 5_000;
const defaultSilenceMs = 10_000;
const ids = { subscribe: 1, health: 2 };

export function createSubscriptions(options: SubscriptionOptions) {
  const { rpcUrl, logger, metrics, silenceMs = defaultSilenceMs } = options;
  const { url: node, headers } = splitCredentials(rpcUrl);
  const url = `${node.replace(/^http/, 'ws').replace(/\/$/, '')}/websocket`;
  const running = new Map<string, Subscription>();
  const takeQuery = createClientQueries();
  metrics.watchSubscriptions(() => running.size);

  const refuse = (reason: SubscriptionRefusal, message: string): Subscribed => {
    metrics.countRefusedSubscription(reason);
    return { ok: false, reason, message };
  };

  const open = (query: string): Subscription => {
    const socket = new WebSocket(url, { headers });
    const ready = Promise.withResolvers<Fault | undefined>();
    const subscription: Subscription = { listeners: new Set(), ready: ready.promise, socket };
    const timer = setTimeout(() => lose('the node did not answer in time'), openTimeoutMs);
    const life = setInterval(() => checkLife(), silenceMs);
    let isConfirmed = false;
    let isAsked = false;
    const end = (fault: Fault) => {
      clearTimeout(timer);
      clearInterval(life);
      if (running.get(query) === subscription) running.delete(query);
      ready.resolve(fault);
      const left = [...subscription.listeners];
      subscription.listeners.clear();
      // Those that wait for the confirmation get the fault instead.
      if (isConfirmed) for (const listener of left) listener.onLost();
      socket.close();
    };
    const lose = (message: string) => {
      if (subscription.listeners.size > 0) logger.warn({ cause: message }, 'a subscription at the node ended');
      end({ reason: 'outage', message });
    };
    const ask = (id: number, method: string, params: object) =>
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    // A partition ends no socket: a node that has sent nothing for a while is asked for an answer.
    const checkLife = () => {
      if (isAsked) return lose('the node has fallen silent');
      if (socket.readyState !== WebSocket.OPEN) return;
      isAsked = true;
      ask(ids.health, 'health', {});
    };
    socket.onopen = () => ask(ids.subscribe, 'subscribe', { query });
    socket.onmessage = ({ data }) => {
      isAsked = false;
      life.refresh();
      const reply = parseNodeReply(String(data));
      if (reply?.id === ids.health) return;
      if (!reply || reply.error) {
        const message = String(reply?.error?.data ?? reply?.error?.message ?? 'refused by the node');
        return end({ reason: 'node', message });
      }
      clearTimeout(timer);
      isConfirmed = true;
      ready.resolve(undefined);
      // The first answer is empty: it confirms the subscription.
      if ((reply.result as { query?: unknown } | null)?.query === undefined) return;
      for (const listener of [...subscription.listeners]) listener.onEvent(reply.resultText);
    };
    socket.onerror = () => undefined; // followed by `close`
    socket.onclose = () => lose('the node cannot be reached');
    running.set(query, subscription);
    return subscription;
  };

  return {
    /** `client` is the key of the client's address. `leave` may be called once. */
    async subscribe(client: string, query: string, listener: EventListener): Promise<Subscribed> {
      if (query.length > maxQueryLength) return refuse('node', `a query has at most ${maxQueryLength} characters`);
      const giveBack = takeQuery(client, query);
      if (!giveBack) return refuse('client', `at most ${maxQueriesOfClient} different queries from one address`);
      if (!running.has(query) && running.size >= maxQueries) {
        giveBack();
        return refuse('full', 'too many different queries');
      }
      const subscription = running.get(query) ?? open(query);
      subscription.listeners.add(listener);
      const leave = () => {
        giveBack();
        subscription.listeners.delete(listener);
        if (subscription.listeners.size > 0 || running.get(query) !== subscription) return;
        running.delete(query);
        subscription.socket.close();
      };
      const fault = await subscription.ready;
      if (fault === undefined) return { ok: true, leave };
      leave();
      return refuse(fault.reason, fault.message);
    },
    close() {
      for (const { socket, listeners } of running.values()) {
        for (const listener of [...listeners]) listener.onLost();
        listeners.clear();
        socket.close();
      }
      running.clear();
    },
  };
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;

/** Counts a query of a client and returns the function that takes it off again; undefined at the client's limit. */
function createClientQueries() {
  const clients = new Map<string, Map<string, number>>();
  return (client: string, query: string): (() => void) | undefined => {
    const queries = clients.get(client) ?? new Map<string, number>();
    const count = queries.get(query) ?? 0;
    if (count === 0 && queries.size >= maxQueriesOfClient) return undefined;
    clients.set(client, queries.set(query, count + 1));
    return () => {
      const left = (queries.get(query) ?? 0) - 1;
      if (left > 0) queries.set(query, left);
      else queries.delete(query);
      if (queries.size === 0) clients.delete(client);
    };
  };
}
