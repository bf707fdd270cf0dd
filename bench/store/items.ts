import type { Store } from '@palaver/store';

export function createItems<Tables>(store: Store<Tables>, ...more: 'phone'[]): Promise<void> {
  return store.migrate('bench', [
    {
      name: '001-item',
      async up(db) {
        let table = db.schema.createTable('item').addColumn('id', 'integer', (column) => column.primaryKey());
        for (const name of [...more, 'body']) table = table.addColumn(name, 'text', (column) => column.notNull());
        await table.execute();
      },
    },
  ]);
}
