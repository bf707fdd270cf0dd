import type { FormReply, FormScreen, Submission } from '../forms/protocol.ts';
import { around, type Constants } from './constants.ts';

export type ShownForm = Extract<FormReply, { kind: 'screen' }>;

/**
 * `first`: the first choices, two instances of every repeat. `last`: the last choices, and nothing that may be skipped.
 * A number: other choices, the same at each walk with this number.
 */
export type Manner = 'first' | 'last' | number;

export interface Walk {
  manner: Manner;
  press(shown: ShownForm | undefined, input: string | undefined): Promise<FormReply>;
  /** Called for every screen. */
  see?(shown: ShownForm): void;
  /** What the form compares with. */
  constants?: Constants;
  samples?: readonly string[];
}

const maxSteps = 600;

/** A form that cannot be filled in to its end. */
export class WalkFault extends Error {
  override readonly name = 'WalkFault';
}

/** Fills in a form with made-up answers until it is complete. */
export async function walkForm(walk: Walk): Promise<Submission> {
  const { press, see } = walk;
  let shown: ShownForm | undefined;
  let input: string | undefined;
  let tries = 0;
  let answers: string[] = [];
  for (let step = 0; step < maxSteps; step++) {
    const reply = await press(shown, input);
    if (reply.kind === 'complete') return reply.submission;
    if (reply.kind === 'left') throw new WalkFault('the form was left');
    see?.(reply);
    const isAgain = shown?.progress.at === reply.progress.at && reply.screen.hint !== undefined;
    tries = isAgain ? tries + 1 : 0;
    if (!isAgain) answers = answersTo(reply.screen, walk, step);
    const next = answers[tries];
    if (next === undefined) throw new WalkFault(`${reply.progress.at}: none of ${answers.length} answers is accepted`);
    [shown, input] = [reply, next];
  }
  throw new WalkFault(`the form does not end after ${maxSteps} answers`);
}

function answersTo(screen: FormScreen, { manner, constants, samples = [] }: Walk, step: number): string[] {
  const { type, options = [], optional, answer, count = 0 } = screen;
  const keys = options.map(({ key }) => key);
  const turn = typeof manner === 'number' ? (manner * 7919 + step * 104_729) >>> 0 : 0;
  const rotate = (list: readonly string[]) => {
    const at = list.length === 0 ? 0 : turn % list.length;
    return [...list.slice(at), ...list.slice(0, at)];
  };
  const isSkipped =
    optional && type !== 'note' && (manner === 'last' || (typeof manner === 'number' && turn % 3 === 0));
  const numbers = around(constants?.numbers ?? []);
  const texts = constants?.texts ?? [];
  const ordered = manner === 'last' ? keys.toReversed() : rotate(keys);
  const two = ordered.slice(0, 2);
  const answers: Record<FormScreen['type'], string[]> = {
    text: ['Ana', ...texts, ...samples, 'a', '12345', '0712345678', 'ana@example.org', 'ABC-123'],
    integer: [...rotate(['3', '1', '12', '40', '100', '2020', '0']), ...numbers, ...samples, '-1'],
    decimal: [...rotate(['2.5', '12', '0.5', '100', '0']), ...numbers, ...samples, '-1'],
    date: ['01022020', '01011980', '01012030', today(), ...samples],
    time: ['0730', '1800'],
    dateTime: ['01022020 0730', '01012030 0730', `${today()} 0730`],
    choice: ordered,
    choices: [...(typeof manner === 'number' ? ordered.slice(0, 2) : []), keys.join(' '), two.join(' '), ...ordered],
    rank: [keys.toReversed().join(' ')],
    note: ['1'],
    accept: ['1'],
    another: [manner !== 'last' && count < 2 ? '1' : '2', '2', '1'],
    send: ['1'],
  };
  const isKept = answer !== undefined && manner === 'last';
  if (isSkipped || isKept) return ['000', ...answers[type]];
  // With some earlier answers nothing but leaving it out is right.
  return optional && type !== 'note' ? [...answers[type], '000'] : answers[type];
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
