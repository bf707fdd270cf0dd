type TextKind = 'text' | 'reasoning';

interface TextPart {
  kind: TextKind;
  /** The number of the part in the message. */
  part: number;
}

/** Texts and reasoning as they stream: a part ends where another begins. */
export function createTextParts(
  toEvents: Record<'start' | 'end', (part: TextPart) => string[]> & { delta(part: TextPart, text: string): string },
) {
  let open: TextPart | undefined;
  function* end(): Generator<string> {
    if (open) yield* toEvents.end(open);
    open = undefined;
  }
  return {
    *add(kind: TextKind, text: string, part = 0): Generator<string> {
      if (text === '') return;
      if (open?.part !== part || open.kind !== kind) {
        yield* end();
        open = { kind, part };
        yield* toEvents.start(open);
      }
      yield toEvents.delta(open, text);
    },
    end,
  };
}
