/**
 * Precedes each input in a text that was made from a list of inputs, where `*` separates nothing and an input may be
 * empty. No text of a telecom gateway holds one: control characters are refused.
 */
const inputMark = '\0';

export const maxListedCharacters = 4_000;

/** Made from a list of inputs, as opposed to sent whole by the telecom gateway. */
export function isListed(text: string): boolean {
  return text.startsWith(inputMark);
}

/** One input of a dialogue: what was typed, and the length of the accumulated text after it. */
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
  if (isListed(text)) return toListedParts(text);
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

/** The accumulated text of a gateway that sends inputs one by one, with one more. */
export function appendInput(text: string, input: string): string {
  return `${text}${inputMark}${input}`;
}

function toListedParts(text: string): Part[] {
  let end = 0;
  return text
    .slice(1)
    .split(inputMark)
    .map((input) => {
      end += 1 + input.length;
      return { value: input.trim(), end };
    });
}

/**
 * The inputs of `text`, which are `parts`, beyond its first `consumed` characters, or `undefined` when `text` does not continue
 * from there (`1` became `12`, not `1*2`) and must be replayed from the start. The caller has compared the consumed characters.
 */
export function toNewParts(text: string, consumed: number, parts = toParts(text)): Part[] | undefined {
  if (consumed > 0 && consumed < text.length && text[consumed] !== '*' && text[consumed] !== inputMark)
    return undefined;
  return parts.filter((part) => part.end > consumed);
}
