/** One segment of a path template: a literal, `*` or `**`. */
export type Segment = { literal: string } | '*' | '**';

export interface PathTemplate {
  segments: Segment[];
  /** The custom verb after the last colon, empty for none. */
  verb: string;
  /** Variables: the field they set and the segments they span. */
  variables: { field: string; from: number; to: number }[];
}

export type ParsedTemplate = { ok: true; template: PathTemplate } | { ok: false; message: string };

const identifier = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;
const literal = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+$/;

/** Parses a template of `google.api.http`: `/a/{b}`, `/a/{b.c=x/*}`, `/a/{b=**}:verb`. */
export function parseTemplate(text: string): ParsedTemplate {
  const refuse = (message: string): ParsedTemplate => ({ ok: false, message: `${message} in the path ${text}` });
  if (!text.startsWith('/')) return refuse('no leading slash');
  const template: PathTemplate = { segments: [], verb: '', variables: [] };
  let rest = text.slice(1);
  // The verb follows the last variable or segment; a colon inside a variable's braces belongs to its pattern.
  const colon = rest.lastIndexOf(':');
  if (colon > Math.max(rest.lastIndexOf('}'), rest.lastIndexOf('/'))) {
    template.verb = rest.slice(colon + 1);
    rest = rest.slice(0, colon);
  }
  for (const part of splitOutsideBraces(rest)) {
    const variable = /^\{([^={}]*)(?:=([^{}]*))?\}$/.exec(part);
    const patterns = variable ? (variable[2] ?? '*').split('/') : [part];
    const from = template.segments.length;
    for (const pattern of patterns) {
      if (pattern === '*' || pattern === '**') template.segments.push(pattern);
      else if (literal.test(pattern)) template.segments.push({ literal: pattern });
      else return refuse(`"${pattern}" is not a path segment`);
    }
    if (!variable) continue;
    const field = variable[1] ?? '';
    if (!identifier.test(field)) return refuse(`"${field}" is not a field`);
    template.variables.push({ field, from, to: template.segments.length });
  }
  if (template.segments.filter((segment) => segment === '**').length > 1) return refuse('more than one **');
  return { ok: true, template };
}

function splitOutsideBraces(text: string): string[] {
  return text.match(/(?:\{[^}]*\}|[^/{}])+|(?<=\/|^)(?=\/|$)|[{}]/g) ?? [];
}
