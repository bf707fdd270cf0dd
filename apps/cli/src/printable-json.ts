/** Characters that move the cursor, reverse the text or cannot be seen: control, format, line and paragraph separators. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON in which no character can hide another from the reader of a terminal. */
export function toPrintableJson(value: unknown): string {
  return (JSON.stringify(value) ?? '').replace(unprintable, (character) =>
    // By UTF-16 unit, as JSON escapes.
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
