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

const byHeight = new Set(['abci_query', 'block', 'block_results', 'consensus_params', 'header', 'validators']);
const byHash = new Set(['block_by_hash', 'header_by_hash', 'tx']);

/** Whether an answer cannot change any more: it is about a given height or hash. */
export function isPinned(method: string, params: unknown): boolean {
  if (byHash.has(method)) return true;
  const { height } = (params ?? {}) as { height?: unknown };
  // An object has a text of its caller's making, or none.
  if (typeof height !== 'string' && typeof height !== 'number') return false;
  return byHeight.has(method) && /^"?[1-9]\d*"?$/.test(`${height}`);
}

export function isWrite(method: string): boolean {
  return method.startsWith('broadcast_');
}
