export {
  createGatewayClient,
  type GatewayAccess,
  type GatewayClient,
  type GatewayFault,
  type GatewayResult,
} from './gateway-client.ts';
export { type Coin, toEvaluateClaim, toSend, toSubmitClaim } from './messages.ts';
export { createOutboxTables, type OutboxRow } from './outbox-table.ts';
export { broadcastTx, readAccount, readLatestBlock, readTransfers, readTx, type Transfer } from './read-chain.ts';
export { createSigningAccount, type SigningAccount, type TxMessage } from './signing-account.ts';
export { createTxOutbox, type TxOutbox } from './tx-outbox.ts';
