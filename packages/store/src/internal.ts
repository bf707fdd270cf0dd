// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export type { AuditHead } from './audit/audit-chain.ts';
export { createAuditLog, readAudit } from './audit/audit-log.ts';
export { type AuditTables, auditMigrations } from './audit/audit-tables.ts';
export { keepAuditHead, loadAnchor, toAnchorPath } from './audit/keep-audit-head.ts';
export { verifyAudit } from './audit/verify-audit.ts';
export { unreadableText } from './cipher/data-cipher.ts';
export { createKeyRing, type KeyRing, keyIdOf } from './cipher/key-ring.ts';
export {
  type CipherStore,
  checkCipher,
  convertOnce,
  encryptTables,
  encryptTokens,
  openCipher,
  registerSealed,
} from './cipher/stored-cipher.ts';
export { databaseTime, timeReaderOf } from './database-clock.ts';
export { createLeases, type LeaseColumns } from './leases.ts';
export { claimSqliteFile, createPrivateFile } from './open-sqlite.ts';
export { engineOf } from './open-store.ts';
export { parsePostgresUrl } from './postgres-hosts.ts';
export { changePieces, mapRows, readPieces } from './read-pieces.ts';
export { runForEach } from './run-for-each.ts';
export { faultKind, toUnavailable } from './store-error.ts';
