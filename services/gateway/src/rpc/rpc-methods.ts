/** Methods of CometBFT's RPC that are passed on unless `GATEWAY_RPC_METHODS` says otherwise: no peers, no whole genesis. */
export const defaultRpcMethods = [
  'abci_info',
  'abci_query',
  'block',
  'block_by_hash',
  'block_results',
  'block_search',
  'blockchain',
  'broadcast_tx_async',
  'broadcast_tx_sync',
  'commit',
  'consensus_params',
  'header',
  'header_by_hash',
  'health',
  'status',
  'subscribe',
  'tx',
  'tx_search',
  'unsubscribe',
  'unsubscribe_all',
  'validators',
];

/** Where the answers to calls about a height say which one they are about. */
const heightOf: Record<string, (result: JsonObject) => unknown> = {
  // A node that has not reached the height, or has pruned it, answers with an error code or from another one.
  abci_query: ({ response }) => (toObject(response).code ? undefined : toObject(response).height),
  block: ({ block }) => toObject(toObject(block).header).height,
  block_results: ({ height }) => height,
  consensus_params: ({ block_height: height }) => height,
  header: ({ header }) => toObject(header).height,
  validators: ({ block_height: height }) => height,
};
/** The object that a call by hash asks for, in its answer. */
const foundOf: Record<string, (result: JsonObject) => unknown> = {
  block_by_hash: ({ block }) => toObject(block).header,
  header_by_hash: ({ header }) => header,
  tx: ({ hash }) => hash,
};

/** Whether an answer cannot change any more: it holds the very object that was asked for, by its height or hash. */
export function isFinal(method: string, params: unknown, result: unknown): boolean {
  const found = foundOf[method]?.(toObject(result));
  if (found) return true;
  const { height } = toObject(params);
  // An object has a text of its caller's making, or none; a list is a parameter that came more than once.
  if (typeof height !== 'string' && typeof height !== 'number') return false;
  const [, digits] = /^"?([1-9]\d*)"?$/.exec(`${height}`) ?? [];
  return digits !== undefined && `${heightOf[method]?.(toObject(result))}` === digits;
}

type JsonObject = Record<string, unknown>;

function toObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}

export function isWrite(method: string): boolean {
  return method.startsWith('broadcast_');
}
