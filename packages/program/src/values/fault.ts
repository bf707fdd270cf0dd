export interface Fault {
  file: string;
  line: number;
  state?: string;
  message: string;
}

export function formatFault({ file, line, state, message }: Fault): string {
  return `${file}:${line}: ${state === undefined ? '' : `state ${state}: `}${message}`;
}

/** ` (did you mean amount?)` when one of the names is close enough to be what was meant, else nothing. */
export function suggest(name: string, names: Iterable<string>): string {
  if (name.length < 3) return '';
  let [best, least] = ['', name.length > 4 ? 3 : 2];
  for (const candidate of names) {
    if (candidate === name || Math.abs(name.length - candidate.length) > 2) continue;
    const distance = distanceOf(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best === '' ? '' : ` (did you mean ${best}?)`;
}

function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const exchanged = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
