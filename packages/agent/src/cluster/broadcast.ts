import { z } from 'zod';

const runId = z.string();
const sessionId = z.string();

/** What one instance sends to all others. A message may be lost: the database is authoritative, and instances that wait poll it. */
const broadcastMessageSchema = z.discriminatedUnion('kind', [
  /** The abort of this run was confirmed. */
  z.object({ kind: z.literal('abort'), runId }),
  /** An approval of this run was answered. */
  z.object({ kind: z.literal('answered'), runId }),
  /** This session was deleted. */
  z.object({ kind: z.literal('drop'), sessionId }),
  /** This delegation of a user was revoked, or was sent downstream: it no longer signs in. */
  z.object({
    kind: z.literal('refused'),
    did: z.string(),
    cid: z.string(),
    standing: z.enum(['revoked', 'shared']),
  }),
  /** A run of this session waits on the sender. */
  z.object({ kind: z.literal('waiting'), sessionId }),
  /** A run of this session has ended. */
  z.object({ kind: z.literal('ended'), sessionId }),
  /** A reader of the sender follows this run. */
  z.object({ kind: z.literal('follow'), runId }),
  /** Frames of this run were stored; the message carries them if they fit. */
  z.object({ kind: z.literal('frames'), runId, first: z.number(), body: z.string().optional() }),
  /** Runs were handed over and wait for a new owner. */
  z.object({ kind: z.literal('released') }),
]);

export type BroadcastMessage = z.infer<typeof broadcastMessageSchema>;

export interface Broadcast {
  /** Never throws, never waits. */
  publish(message: BroadcastMessage): void;
  onMessage(handler: (message: BroadcastMessage) => void): void;
  close(): Promise<void>;
}

/** For one process. */
export function createNoBroadcast(): Broadcast {
  return { publish() {}, onMessage() {}, async close() {} };
}

/** Text on its way between instances; whatever is not of this version is left out. */
export function createInbox(instance: string) {
  const handlers = new Set<(message: BroadcastMessage) => void>();
  return {
    onMessage: (handler: (message: BroadcastMessage) => void) => void handlers.add(handler),
    toText: (message: BroadcastMessage) => JSON.stringify({ from: instance, message }),
    receive(text: string): void {
      const { from, message } = JSON.parse(text) as { from?: unknown; message?: unknown };
      const parsed = broadcastMessageSchema.safeParse(message);
      if (from === instance || !parsed.success) return;
      for (const handle of handlers) handle(parsed.data);
    },
  };
}
