import { parseJson } from '@palaver/contract/internal';

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** What a node answers, with the text of its result as it was written: numbers may be too long for JavaScript. */
export interface NodeReply {
  id?: unknown;
  result?: unknown;
  resultText: string;
  error?: RpcError;
}

/** What nodes write before the result, which they write last. */
const beforeResult = /^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+|null)\s*,\s*)*"result"\s*:/;

/** Reads JSON-RPC from a node; undefined for anything else, such as the JSON of a proxy. */
export function parseNodeReply(text: string): NodeReply | undefined {
  const [head] = beforeResult.exec(text) ?? [];
  const resultText = head ? text.slice(head.length, text.lastIndexOf('}')).trim() : '';
  const result = parseJson(resultText);
  if (head && result !== undefined) return { ...parseObject(`${head}null}`), result, resultText };
  const { id, result: other, error } = parseObject(text);
  if (isRpcError(error)) return { id, error, resultText: '' };
  return other === undefined ? undefined : { id, result: other, resultText: JSON.stringify(other) };
}

function parseObject(text: string): Record<string, unknown> {
  const json = parseJson(text);
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
}

function isRpcError(error: unknown): error is RpcError {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number';
}
