/** Characters that move the cursor, reverse the text or cannot be seen: control, format, line and paragraph separators. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** In texts of several lines: those that join or part letters are of words and emoji. */
const unprintableInProse = /(?![\n\t\u00ad\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON in which no character can hide another from the reader of a terminal. */
export function toPrintableJson(value: unknown): string {
  return escapeAll(JSON.stringify(value) ?? '', unprintable);
}

/** A text of somebody else, which may have lines and tabs. */
export function toPrintableProse(text: string): string {
  return escapeAll(text, unprintableInProse);
}

/** A line in which values of somebody else are escaped: they cannot end the line, style it or hide a part of it. */
export function printable(parts: TemplateStringsArray, ...values: unknown[]): string {
  return String.raw({ raw: parts }, ...values.map((value) => escapeAll(String(value), unprintable)));
}

function escapeAll(text: string, characters: RegExp): string {
  return text.replace(characters, (character) =>
    // By UTF-16 unit, as JSON escapes.
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
