import { z } from 'zod';
import { textKeySchema } from '../actions/keyword.ts';
import { reservedKeys } from '../values/keys.ts';
import type { Kind } from './kind.ts';

const schema = z.strictObject({ kind: z.literal('end'), text: textKeySchema });

/** A closing text that is longer than a screen ends with its last page. */
export const end: Kind<z.infer<typeof schema>> = {
  shows: 'a last text',
  leadsTo: 'nothing: the call ends',
  schema,
  targets: () => [],
  enter: (_, dialogue, { countPages }) => ({ dialogue, ended: countPages(dialogue) === 1 }),
  press(_, dialogue, { input, countPages }) {
    const last = countPages(dialogue) - 1;
    const page = input.value === reservedKeys.more ? Math.min(dialogue.page + 1, last) : dialogue.page;
    return { dialogue: { ...dialogue, page }, ended: page === last };
  },
  outline: ['([', '])'],
  editor: { title: 'End', draft: { text: '{name}.text' }, texts: { '{name}.text': '{text}' } },
};
