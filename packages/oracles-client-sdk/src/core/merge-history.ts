import { type ChatMessage, indexAfterQuestion } from './chat-message.ts';
import type { MessagePage, WireMessage } from './wire.ts';

export interface History {
  readonly messages: readonly ChatMessage[];
  /** Cursor of the page before the oldest message. */
  readonly olderCursor: string | null;
}

/** A page of the service's history joined with what this page knows: nothing twice, nothing lost, keys kept. */
export function mergeHistory(state: History, { page, older }: { page: MessagePage; older: boolean }): History {
  const { olderCursor } = state;
  const current = withoutReplaced(state.messages, page.messages);
  if (older) {
    const known = new Set(current.map(({ storedId }) => storedId));
    const added = page.messages.filter(({ id }) => !known.has(id)).map(fromStored);
    return { messages: [...added, ...current], olderCursor: toOlderCursor(page) };
  }
  const matched = new Set<ChatMessage>();
  const messages: ChatMessage[] = withoutReplacedHere(page.messages, current).map((stored) => {
    const mine = current.find((message) => !matched.has(message) && isSame(message, stored));
    if (!mine) return fromStored(stored);
    matched.add(mine);
    return join(mine, stored);
  });
  const first = current.findIndex((message) => matched.has(message));
  const last = current.findLastIndex((message) => matched.has(message));
  // What is before the page was loaded earlier; without an overlap there may be a gap, so it is loaded again when asked.
  const before = first > 0 ? current.slice(0, first) : [];
  for (const [index, message] of current.entries()) {
    if (matched.has(message) || index < first) continue;
    // Not stored yet, never accepted, or newer than the page.
    if (message.isStored && (last < 0 || index < last)) continue;
    messages.splice(placeOf(message, { messages, before: current[index - 1] }), 0, message);
  }
  return { messages: [...before, ...messages], olderCursor: before.length > 0 ? olderCursor : toOlderCursor(page) };
}

/** A question that was refused stays where it was asked; one that is on its way comes last. */
function placeOf(
  { type, status, requestId }: ChatMessage,
  { messages, before }: { messages: readonly ChatMessage[]; before: ChatMessage | undefined },
): number {
  if (type === 'ai') return indexAfterQuestion(messages, requestId);
  const known = status === 'failed' ? messages.findIndex(({ key }) => key === before?.key) : -1;
  return known < 0 ? messages.length : known + 1;
}

/** Another page may have edited a question: what the service has replaced is not shown any more. */
function withoutReplaced(current: readonly ChatMessage[], page: readonly WireMessage[]): readonly ChatMessage[] {
  const gone = new Set<ChatMessage>();
  for (const { id, replaces } of page) {
    const from = replaces === undefined ? -1 : current.findIndex(({ storedId }) => storedId === replaces);
    if (from < 0) continue;
    const to = current.findIndex(({ storedId }, index) => index > from && storedId === id);
    for (const message of current.slice(from, to < 0 ? undefined : to)) if (message.storedId) gone.add(message);
  }
  return gone.size > 0 ? current.filter((message) => !gone.has(message)) : current;
}

/** A page that was asked for before this one replaced a question still lists it. */
function withoutReplacedHere(page: readonly WireMessage[], current: readonly ChatMessage[]): readonly WireMessage[] {
  let kept = page;
  for (const { replaces, requestId, status } of current) {
    const from = replaces && status !== 'failed' ? kept.findIndex(({ id }) => id === replaces) : -1;
    if (from < 0) continue;
    const to = kept.findIndex((stored, index) => index > from && stored.requestId === requestId);
    kept = [...kept.slice(0, from), ...(to < 0 ? [] : kept.slice(to))];
  }
  return kept;
}

function toOlderCursor({ hasOlder, prevCursor }: MessagePage): string | null {
  return hasOlder ? prevCursor : null;
}

function fromStored(stored: WireMessage): ChatMessage {
  return { ...stored, key: stored.id, storedId: stored.id, isStored: true };
}

function isSame(mine: ChatMessage, stored: WireMessage): boolean {
  if (mine.storedId === stored.id) return true;
  if (mine.isStored || mine.type !== stored.type) return false;
  // Services that do not keep the request id are known by what was said.
  return stored.requestId ? mine.requestId === stored.requestId : mine.content === stored.content;
}

function join(mine: ChatMessage, stored: WireMessage): ChatMessage {
  // Its frames are still on their way here.
  if (mine.status === 'streaming') return mine;
  // A service that was killed kept its last checkpoint; the reader has seen more than that.
  const isAhead = mine.content !== stored.content && mine.content.startsWith(stored.content);
  const { content, parts } = isAhead ? mine : stored;
  const { key, id, earlier } = mine;
  return { ...fromStored(stored), content, parts, key, id, earlier };
}
