export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a Prometheus text; comments and malformed lines are left out. */
export function parsePrometheus(text: string): Sample[] {
  return text.split('\n').flatMap((row) => {
    const match = row.startsWith('#') ? null : line.exec(row.trim());
    if (!match?.[1] || match[3] === undefined) return [];
    const labels: Record<string, string> = {};
    for (const [, name, value] of (match[2] ?? '').matchAll(label)) if (name) labels[name] = unescapeLabel(value ?? '');
    return [{ name: match[1], labels, value: toNumber(match[3]) }];
  });
}

function unescapeLabel(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function toNumber(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  return Number(text);
}
