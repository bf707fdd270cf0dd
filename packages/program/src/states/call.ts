import { z } from 'zod';
import { nameSchema } from '../actions/keyword.ts';
import { at, type Kind } from './kind.ts';

const schema = z.strictObject({ kind: z.literal('call'), flow: nameSchema, to: nameSchema });

export const call: Kind<z.infer<typeof schema>> = {
  shows: 'nothing',
  leadsTo: 'its `flow`; at a state of kind `return`, its `to`',
  schema,
  targets: ({ flow, to }) => [at('flow', flow), at('to', to)],
  follow({ flow }, dialogue) {
    const { state, stack, frames = [] } = dialogue;
    return { dialogue: { ...dialogue, frames: [...frames, { state, depth: stack.length }] }, to: flow };
  },
  comeBack: ({ to }, dialogue) => ({ dialogue, to }),
  editor: { title: 'Sub-flow', draft: { flow: '{to}', to: '{to}' } },
};
