/** One input of a dialogue: what was typed, and where the accumulated text stood after it. */
export interface Part {
  value: string;
  end: number;
}

/**
 * Splits the accumulated text into its inputs. Exit is the input `*` itself and nothing follows it, so a text that ends
 * in `**` (or is `*` alone) ends with that input; every other `*` separates.
 */
export function toParts(text: string): Part[] {
  if (text === '') return [];
  const exit = text === '*' || text.endsWith('**');
  const before = exit ? text.slice(0, -2) : text;
  const parts: Part[] = [];
  if (before !== '' || !exit) {
    let end = -1;
    for (const value of before.split('*')) {
      end += 1 + value.length;
      parts.push({ value: value.trim(), end });
    }
  }
  if (exit) parts.push({ value: '*', end: text.length });
  return parts;
}

/**
 * The inputs of `text` beyond its first `consumed` characters, or `undefined` when `text` does not go on from there
 * (`1` became `12`, not `1*2`) and must be replayed from the start. The caller has compared the consumed characters.
 */
export function toNewParts(text: string, consumed: number): Part[] | undefined {
  if (consumed > 0 && consumed < text.length && text[consumed] !== '*') return undefined;
  return toParts(text).filter((part) => part.end > consumed);
}
