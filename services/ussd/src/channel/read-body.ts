/** The fields of a JSON object or of a form; `undefined` for anything else. */
export function readBody(contentType: string, body: string): Record<string, unknown> | undefined {
  return isForm(contentType) ? readForm(body) : readJson(body);
}

/** Media types are written in any case. */
export function isForm(contentType: string): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(contentType);
}

function readJson(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function readForm(body: string): Record<string, unknown> {
  const fields: Record<string, unknown> = Object.create(null);
  for (const [name, value] of new URLSearchParams(body)) fields[name] ??= value;
  return fields;
}
