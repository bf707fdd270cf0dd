export {
  createGatewayClient,
  type GatewayAccess,
  type GatewayClient,
  type GatewayFault,
  type GatewayResult,
} from './gateway-client.ts';
export { type Coin, toEvaluateClaim, toSend, toSubmitClaim } from './messages.ts';
export { broadcastTx, readAccount, readLatestBlock, readTx } from './read-chain.ts';
export { readTransfers, type Transfer } from './read-transfers.ts';
export { createSigningAccount, type SigningAccount } from './signing-account.ts';
export { createTxOutbox, type TxOutbox } from './tx-outbox.ts';
export { createOutboxTables, type OutboxRow } from './tx-outbox-schema.ts';
