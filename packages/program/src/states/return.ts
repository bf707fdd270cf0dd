import { z } from 'zod';
import type { Kind } from './kind.ts';

const schema = z.strictObject({ kind: z.literal('return') });

/** Ends a sub-flow or one round of a loop. The engine knows which: it continues with the state that began it. */
export const back: Kind<z.infer<typeof schema>> = {
  shows: 'nothing',
  leadsTo: 'the `to` of the `call`, or the next item of the `each`, that led here',
  schema,
  targets: () => [],
  follow: () => undefined,
  editor: { title: 'Return', draft: {} },
};
