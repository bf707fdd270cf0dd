// The library's plain types are the contract's: this file does not compile when one of them moves on without the other.
import type * as contract from '@palaver/contract';
import type * as internal from '@palaver/contract/internal';
import type * as wire from './wire.ts';

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

export const checks = [
  true satisfies Equal<wire.WireMessage, contract.Message>,
  true satisfies Equal<wire.ToolCall, contract.ToolCall>,
  true satisfies Equal<wire.MessagePage, internal.MessagePage>,
  true satisfies Equal<wire.Session, contract.Session>,
  true satisfies Equal<wire.SessionList, internal.SessionList>,
  true satisfies Equal<wire.Memory, internal.Memory>,
  true satisfies Equal<wire.MemoryList, internal.MemoryList>,
  true satisfies Equal<wire.Attachment, contract.Attachment>,
  true satisfies Equal<wire.StreamEventData, contract.SseEventData>,
  true satisfies Equal<wire.SocketEventPayload, contract.ServerEventPayload>,
  true satisfies Equal<wire.AnyEvent, internal.AnyEvent>,
];
