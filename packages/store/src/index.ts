export type { AuditHead } from './audit/audit-chain.ts';
export {
  type AuditActor,
  type AuditEvent,
  type AuditFilter,
  type AuditLog,
  type AuditLogOptions,
  createAuditLog,
  readAudit,
} from './audit/audit-log.ts';
export { auditMigrations } from './audit/audit-tables.ts';
export { keepAuditHead, loadAnchor, toAnchorPath } from './audit/keep-audit-head.ts';
export { type AuditVerdict, verifyAudit } from './audit/verify-audit.ts';
export type { BindValue } from './bind-value.ts';
export { type DataCipher, type SealedTable, type UnreadableCell, unreadableText } from './cipher/data-cipher.ts';
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

export { claimSqliteFile } from './claim-sqlite-file.ts';
export { type DatabaseClock, type DatabaseClockOptions, startDatabaseClock } from './database-clock.ts';
export type { GroupWriter, GroupWriterOptions } from './group-writer.ts';
export { createIndex, type Migration } from './migrate.ts';
export { engineOf, openStore } from './open-store.ts';
export { type PersonalData, type PersonalTable, personalTables } from './personal-data.ts';
export { parsePostgresUrl } from './postgres-hosts.ts';
export type { PreparedQuery } from './prepare-query.ts';
export { timeReaderOf } from './read-time.ts';
export type { Engine, Store, StoreOptions, TransactionOptions } from './store.ts';
export { faultKind, StoreError, type StoreErrorKind } from './store-error.ts';
