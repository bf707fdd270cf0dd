import { toPartOrder } from './message-parts.ts';
import type { MessageExtras, StoredMessage } from './messages.ts';

/** A message as a row of `agent_message`, before its cells are encrypted. */
export function toMessageRow(runId: string, message: StoredMessage) {
  const { toolCalls, approvals, reasoning, attachments, components, finish, error, files, earlier, replaces } = message;
  const order = toPartOrder(message);
  return {
    id: message.id,
    position: `${runId}:${message.type === 'human' ? 0 : 1}`,
    type: message.type,
    // PostgreSQL has no U+0000 in its texts; a model or a tool may.
    content: message.content.replaceAll('\0', '\ufffd'),
    status: message.status,
    requestId: message.requestId,
    extras: toJson<MessageExtras>({
      toolCalls,
      approvals,
      reasoning,
      attachments,
      components,
      finish,
      error,
      replaces,
      order,
    }),
    hidden: toJson({ files, earlier }),
    createdAt: Date.parse(message.createdAt),
  };
}

/** Under names of their own beside the columns of a run. */
export function toPrefixed<Row extends object>(row: Row) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [`message_${name}`, value])) as {
    [Key in keyof Row & string as `message_${Key}`]: Row[Key];
  };
}

function toJson<Fields extends object>(fields: Fields): string | null {
  return Object.values(fields).some((value) => value !== undefined) ? JSON.stringify(fields) : null;
}
