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

/** Whether an answer cannot change any more: it is about a given height or hash that the node has. */
export function isFinal(method: string, params: unknown, result: unknown): boolean {
  const { block, header, response } = toObject(result);
  if (byHash.has(method)) return method === 'tx' || toObject(block ?? header) !== none;
  const { height } = toObject(params);
  // An object has a text of its caller's making, or none.
  if (typeof height !== 'string' && typeof height !== 'number') return false;
  const [, digits] = /^"?([1-9]\d*)"?$/.exec(`${height}`) ?? [];
  if (digits === undefined || !byHeight.has(method)) return false;
  if (method !== 'abci_query') return true;
  // A node that has not reached the height answers with an error or from another height.
  const { code = 0, height: answered } = toObject(response);
  return code === 0 && `${answered}` === digits;
}

const none: Record<string, unknown> = {};

function toObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : none;
}

export function isWrite(method: string): boolean {
  return method.startsWith('broadcast_');
}
