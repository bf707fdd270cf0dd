const quote = 0x22;
const backslash = 0x5c;
const openings = new Set([0x5b, 0x7b]);
const closings = new Set([0x5d, 0x7d]);
const comma = 0x2c;

/** Deeper than anything people write, and far below the depth that overflows the stack. */
const maxJsonDepth = 100;

/**
 * Whether arrays and objects of a JSON text are nested too deep. `JSON.parse` reads any depth, but `JSON.stringify` and
 * every other recursive function fails on it, so such a text is refused before it is read.
 */
export function isJsonTooDeep(json: string, max = maxJsonDepth): boolean {
  return measureJson(json, max).isTooDeep;
}

/** What a JSON text would be when read; where it is too deep, the values up to there. */
export function measureJson(json: string, maxDepth = maxJsonDepth): { isTooDeep: boolean; values: number } {
  let depth = 0;
  let values = 1;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (inString) {
      if (code === backslash) index += 1;
      else if (code === quote) inString = false;
    } else if (code === quote) inString = true;
    else if (closings.has(code)) depth -= 1;
    else if (code === comma) values += 1;
    else if (openings.has(code)) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) return { isTooDeep: true, values };
    }
  }
  return { isTooDeep: false, values };
}
