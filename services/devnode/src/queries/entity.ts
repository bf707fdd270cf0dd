import { refuseArgument, refuseMissing } from '../refusal.ts';
import type { Entity, IidDocument, World } from '../world/world.ts';
import { answerPage, type Paged, paginate } from './paginate.ts';
import { type Answer, answer, type ById, type Query } from './query.ts';

export const entityQueries = {
  Params: ({ world }) => answer({ params: world.params.entity }),
  Entity: ({ world }, { id }: ById) => withEntity(world, id, (entity, iidDocument) => answer({ entity, iidDocument })),
  EntityMetaData: ({ world }, { id }: ById) => withEntity(world, id, (entity) => answer({ entity })),
  EntityIidDocument: ({ world }, { id }: ById) => withEntity(world, id, (_, iidDocument) => answer({ iidDocument })),
  EntityVerified: ({ world }, { id }: ById) =>
    withEntity(world, id, ({ entityVerified }) => answer({ entityVerified })),
  EntityList: ({ world }, { pagination }: Paged) => answerPage('entities', paginate(world.entities.rows, pagination)),
} satisfies Record<string, Query>;

function withEntity(world: World, id: string, use: (entity: Entity, document: IidDocument) => Answer): Answer {
  if (id === '') return refuseArgument('invalid request');
  const document = world.iidDocuments.get(id);
  if (!document) return refuseMissing('did document not found');
  const entity = world.entities.get(id);
  return entity ? use(entity, document) : refuseMissing('entity not found');
}
