import type { Mutation } from '../mutate.ts';

const leases = (name: string, ...edits: Mutation['edits']): Mutation => ({
  name,
  file: 'packages/store/src/leases.ts',
  edits,
});

export const mutations: Mutation[] = [
  leases('a row is taken before its lease is over', [
    "eb.and([eb('lease_until', '<=', now), eb.and(from as Partial<LeaseColumns>)])",
    'eb.and(from as Partial<LeaseColumns>)',
  ]),
  leases('a row is taken that is not as it was read', [
    "eb.and([eb('lease_until', '<=', now), eb.and(from as Partial<LeaseColumns>)])",
    "eb('lease_until', '<=', now)",
  ]),
  leases(
    'leases follow the clock of the process',
    [
      'const now = databaseTime(store.engine);',
      'const now = { expressionType: undefined, toOperationNode: () => sql.val(Date.now()).toOperationNode() } as never;',
    ],
    ["import type { Kysely } from 'kysely';", "import { type Kysely, sql } from 'kysely';"],
  ),
  leases('a name is held by two', [
    ".where((eb) => eb.or([eb(`${table}.lease_until`, '<=', now), eb(`${table}.claimed_by`, '=', p.holder)])),",
    ',',
  ]),
  leases('a lease that is not renewed', [
    "        .set((eb) => ({ lease_until: eb(now, '+', ms) }))\n",
    "        .set((eb) => ({ lease_until: eb.ref('lease_until') as never }))\n",
  ]),
  leases('who has lost a row gives it back', [
    "where('id', '=', id).where('claimed_by', '=', holder);",
    "where('id', '=', id);",
  ]),
  leases('a row that changed is given back as if it had not', [
    '.where((eb) => eb.and(from as Partial<LeaseColumns>))',
    '',
  ]),
  leases('a row is given back for ever', [
    "lease_until: afterMs === 0 ? 0 : eb(now, '+', afterMs)",
    'lease_until: afterMs === 0 ? 0 : 9e15',
  ]),
  leases('a lease without an end', [
    "({ ...set, claimed_by: holder, lease_until: eb(now, '+', ms) })",
    '({ ...set, claimed_by: holder, lease_until: 9e15 })',
  ]),
];
