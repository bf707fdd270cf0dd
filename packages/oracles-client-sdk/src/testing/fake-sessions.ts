import type { ChatMessage } from '../core/chat-message.ts';
import { createRandomId } from '../core/random-id.ts';
import type { SocketChannelOptions } from '../core/socket-channel.ts';
import type { Attachment, Session, SocketEvent, WireMessage } from '../core/wire.ts';
import { type ClientOutcome, type FakeRun, startFakeRun } from './fake-run.ts';
import type { FakeMessage, FakeStep } from './fake-script.ts';

interface Kept {
  session: Session;
  messages: WireMessage[];
  run: FakeRun | undefined;
}

export type FakeSessions = ReturnType<typeof createFakeSessions>;

/** The sessions of a fake agent, with their messages, runs and sockets. */
export function createFakeSessions(oracleDid: string) {
  const kept = new Map<string, Kept>();
  const runs = new Map<string, FakeRun>();
  const sockets = new Set<SocketChannelOptions>();
  const socketsOf = (sessionId: string) => [...sockets].filter((socket) => socket.sessionId === sessionId);

  function emit(event: SocketEvent, sessionId?: string): void {
    for (const socket of sessionId === undefined ? [...sockets] : socketsOf(sessionId)) socket.onEvent(event);
  }

  function end(found: Kept, { key: _key, storedId: _storedId, isStored: _isStored, ...answer }: ChatMessage): void {
    const { sessionId } = found.session;
    found.messages.push({ ...answer, status: answer.status as WireMessage['status'] });
    found.run = undefined;
    emit({ eventName: 'message_cache_invalidation', payload: { sessionId, messageId: answer.id } }, sessionId);
  }

  return {
    emit,
    find: (sessionId: string) => kept.get(sessionId),
    findRun: (runId: string) => runs.get(runId),
    /** Newest updated first. */
    list: () => [...kept.values()].map(({ session }) => session).reverse(),
    remove: (sessionId: string) => kept.delete(sessionId),
    create(title = 'New conversation'): Session {
      const now = new Date().toISOString();
      const names = { oracleName: 'Fake agent', oracleDid, roomId: createRandomId() };
      const session = { sessionId: createRandomId(), title, createdAt: now, lastUpdatedAt: now, ...names };
      kept.set(session.sessionId, { session, messages: [], run: undefined });
      return session;
    },

    connect(socket: SocketChannelOptions): () => void {
      sockets.add(socket);
      return () => sockets.delete(socket);
    },
    takeOutcome(toolCallId: string, outcome: ClientOutcome): void {
      for (const run of runs.values()) run.takeOutcome(toolCallId, outcome);
    },

    /** Stores a message and starts its answer. */
    begin(found: Kept, steps: readonly FakeStep[], message: FakeMessage, requestId: string): FakeRun {
      const { body } = message;
      const question: WireMessage = {
        id: typeof body.messageId === 'string' ? body.messageId : createRandomId(),
        type: 'human',
        content: message.message,
        createdAt: new Date().toISOString(),
        status: 'complete',
        requestId,
        ...(Array.isArray(body.attachments) && { attachments: body.attachments as Attachment[] }),
        ...(typeof body.replaces === 'string' && { replaces: body.replaces }),
      };
      const replaced = found.messages.findIndex(({ id }) => id === body.replaces);
      if (replaced >= 0) found.messages.splice(replaced);
      found.messages.push(question);
      const run = startFakeRun({
        steps,
        message,
        requestId,
        userMessageId: question.id,
        sockets: () => socketsOf(message.sessionId),
        onEnd: (answer) => end(found, answer),
      });
      found.run = run;
      runs.set(run.runId, run);
      run.start();
      return run;
    },
  };
}
