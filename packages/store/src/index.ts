export type { BindValue } from './bind-value.ts';
export type { GroupWriter, GroupWriterOptions } from './group-writer.ts';
export type { Migration } from './migrate.ts';
export { engineOf, openStore } from './open-store.ts';
export type { PreparedQuery } from './prepare-query.ts';
export type { Engine, Store, StoreOptions, TransactionOptions } from './store.ts';
export { StoreError, type StoreErrorKind } from './store-error.ts';
