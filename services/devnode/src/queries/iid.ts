import { refuseArgument, refuseMissing } from '../refusal.ts';
import { answerPage, type Paged, paginate } from './paginate.ts';
import { answer, type ById, type Query } from './query.ts';

export const iidQueries = {
  IidDocuments: ({ world }, { pagination }: Paged) =>
    answerPage('iidDocuments', paginate(world.iidDocuments.rows, pagination)),
  IidDocument({ world }, { id }: ById) {
    if (id === '') return refuseArgument('iid Doc id cannot be empty');
    const iidDocument = world.iidDocuments.get(id);
    return iidDocument ? answer({ iidDocument }) : refuseMissing('did document not found');
  },
} satisfies Record<string, Query>;
