import { z } from 'zod';
import { countCodePoints } from './code-points.ts';

/**
 * Text of `min` to `max` code points. JSON Schema's lengths are code points too, so the document says the same.
 * U+0000 is refused because PostgreSQL cannot store it.
 */
export function boundedText(min: number, max: number) {
  const fits = (text: string) => {
    // A code point is at most two units: a huge value is refused without counting it.
    if (text.length > 2 * max) return false;
    const count = countCodePoints(text);
    return count >= min && count <= max;
  };
  return z
    .string()
    .refine(fits, { error: `must have ${min} to ${max} characters` })
    .refine((text) => !text.includes('\0'), { error: 'must not contain the character U+0000' })
    .meta({ minLength: min, maxLength: max });
}
