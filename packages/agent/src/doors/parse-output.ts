import { isJsonTooDeep } from '@palaver/service-kit/internal';

/** Arguments of calls are texts in OpenAI's protocols. One that is nested too deep stays a text. */
export function parseOutput(text: string): unknown {
  if (isJsonTooDeep(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
