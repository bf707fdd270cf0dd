/** Precedes each input in a text made from a list, where `*` separates nothing. No gateway sends control characters. */
const inputMark = '\0';

export const maxListedCharacters = 4_000;

/** Made from a list of inputs, as opposed to sent whole by the telecom gateway. */
export function isListed(text: string): boolean {
  return text.startsWith(inputMark);
}

export interface Part {
  value: string;
  /** The length of the accumulated text after it. */
  end: number;
}

/** Exit is the input `*` itself and ends the text, as in `1**` or `*` alone; every other `*` separates inputs. */
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

/** The inputs after `consumed` characters; `undefined` where the text does not continue there (`1` became `12`, not `1*2`). */
export function toNewParts(text: string, consumed: number, parts = toParts(text)): Part[] | undefined {
  if (consumed > 0 && consumed < text.length && text[consumed] !== '*' && text[consumed] !== inputMark)
    return undefined;
  return parts.filter((part) => part.end > consumed);
}
