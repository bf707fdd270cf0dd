/** Results of tools are texts in most protocols, and most of these are JSON. */
export function parseOutput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
