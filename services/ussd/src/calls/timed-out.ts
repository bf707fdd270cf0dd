import type { DataCipher } from '@palaver/store';
import { sealedTables } from '../store/sealed-tables.ts';
import { questionOf, type TimedOut } from './program-stats.ts';
import { unpackDialogue, unpackOpening } from './session.ts';
import type { ExpiredSession } from './sweeper.ts';

const unreadable = { opening: '{}', dialogue: '{"f":1e9}' };

/** Where calls have expired. */
export function toTimedOut(cipher: DataCipher, expired: readonly ExpiredSession[]): TimedOut[] {
  return expired.flatMap((row) => {
    const { opening, dialogue: packed } = cipher.openRow(sealedTables.session, row, unreadable);
    const { program: version } = unpackOpening(opening);
    const dialogue = unpackDialogue(packed);
    if (version === undefined || !dialogue) return [];
    const { language, state } = dialogue;
    const question = questionOf(dialogue);
    return [{ version, state, language }, ...(question === undefined ? [] : [{ version, state: question, language }])];
  });
}
