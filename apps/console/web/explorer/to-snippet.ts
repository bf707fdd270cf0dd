import type { RequestParts } from './routes.ts';

/** The request as a line for a shell. */
export function toCurl(address: string, { target, headers }: RequestParts): string {
  const options = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  return ['curl', quote(address + target), ...options].join(' ');
}

function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
