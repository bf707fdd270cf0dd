const maxBytes = 16 * 1024 * 1024;

/** Keeps encoded answers by request until the world changes: encoding a list costs ten times the rest of a call. */
export interface ReplyMemo {
  get(key: string): Uint8Array | undefined;
  set(key: string, message: Uint8Array): void;
  clear(): void;
}

export function createReplyMemo(): ReplyMemo {
  const kept = new Map<string, Uint8Array>();
  let bytes = 0;
  const clear = () => {
    kept.clear();
    bytes = 0;
  };
  return {
    get: (key) => kept.get(key),
    set(key, message) {
      bytes += key.length + message.length;
      if (bytes > maxBytes) clear();
      kept.set(key, message);
    },
    clear,
  };
}
