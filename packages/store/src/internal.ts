// For Palaver's own packages and services: not part of the public interface, and changed without notice.
export { type AuditHead, type AuditTables, auditMigrations } from './audit/audit-chain.ts';
export { createAuditLog, readAudit } from './audit/audit-log.ts';
export { keepAuditHead, loadAnchor, toAnchorPath, verifyAudit } from './audit/verify-audit.ts';
export { createKeyRing, type KeyRing, keyIdOf, unreadableText } from './cipher/data-cipher.ts';
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
export { parsePostgresUrl } from './open-postgres.ts';
export { claimSqliteFile, createPrivateFile } from './open-sqlite.ts';
export { engineOf } from './open-store.ts';
export { runForEach } from './prepare-query.ts';
export { changePieces, mapRows, readPieces } from './read-pieces.ts';
export { faultKind, toUnavailable } from './store-error.ts';
