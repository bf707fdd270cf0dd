import { isJsonTooDeep } from '@palaver/service-kit/internal';

/** Results of tools are texts in most protocols, and most of these are JSON. One that is nested too deep stays a text. */
export function parseOutput(text: string): unknown {
  if (isJsonTooDeep(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
