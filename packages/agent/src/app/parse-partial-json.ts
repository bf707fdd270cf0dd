import { agentLimits } from '@palaver/contract';

const tokens = /"(?:[^"\\]|\\.?)*"?|[{}[\],:]|[^\s{}[\],:"]+|\s+/gs;
/** A string without its end, and without an escape that is cut off. */
const saidOf = /^"(?:[^"\\]|\\(?:u[\da-f]{4}|[^u]))*/i;

/** The value of a JSON text that has not all come yet: what is open is closed, what is incomplete is left out. */
export function parsePartialJson(text: string): unknown {
  const closers: string[] = [];
  let read = '';
  /** The longest beginning that is a value once it is closed. */
  let whole = '';
  let isKey = false;
  for (const [token] of text.matchAll(tokens)) {
    const before = read;
    read += token;
    if (token === '{' || token === '[') closers.unshift(token === '{' ? '}' : ']');
    if (closers.length > agentLimits.toolArgumentsDepth) return undefined;
    if (token === '}' || token === ']') closers.shift();
    if (token === '{' || token === ',') isKey = closers[0] === '}';
    if (token === '[' || token === ':') isKey = false;
    if (token.startsWith('"')) {
      if (!isKey) whole = `${before}${saidOf.exec(token)?.[0]}"${closers.join('')}`;
    } else if (/^[{}[\]]$/.test(token) || (read.length < text.length && /^[^\s,:]/.test(token)))
      whole = read + closers.join('');
  }
  try {
    return JSON.parse(whole);
  } catch {
    return undefined;
  }
}
