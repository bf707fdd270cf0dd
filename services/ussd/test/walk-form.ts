import type { FormReply, FormScreen } from '../src/forms/protocol.ts';

type Shown = Extract<FormReply, { kind: 'screen' }>;

/** `first`: the first choices, two instances of every repeat. `last`: the last choices, and nothing that may be skipped. */
export type Manner = 'first' | 'last';

export interface Walk {
  manner: Manner;
  press(shown: Shown | undefined, input: string | undefined): Promise<FormReply>;
  /** Called for every screen. */
  see?(shown: Shown): void;
}

const maxSteps = 400;

/** Fills in a form with made-up answers until it is complete. */
export async function walkForm({ manner, press, see }: Walk) {
  let shown: Shown | undefined;
  let input: string | undefined;
  let tries = 0;
  for (let step = 0; step < maxSteps; step++) {
    const reply = await press(shown, input);
    if (reply.kind === 'complete') return reply.submission;
    if (reply.kind === 'left') throw new Error('the form was left');
    see?.(reply);
    tries = reply.screen.hint ? tries + 1 : 0;
    const answers = answersTo(reply.screen, manner);
    const next = answers[tries];
    if (next === undefined) throw new Error(`${reply.progress.at}: none of ${answers.join(', ')} is an answer`);
    [shown, input] = [reply, next];
  }
  throw new Error('the form does not end');
}

function answersTo({ type, options = [], optional, count = 0 }: FormScreen, manner: Manner): string[] {
  const keys = options.map(({ key }) => key);
  const isFirst = manner === 'first';
  if (optional && !isFirst && type !== 'note') return ['000'];
  const answers: Record<FormScreen['type'], string[]> = {
    text: ['Ana', 'a', '12345', '0712345678', 'ana@example.org', 'ABC-123'],
    integer: ['3', '1', '12', '40', '100', '2020', '0', '-1'],
    decimal: ['2.5', '12', '0.5', '100', '0', '-1'],
    date: ['01022020', '01011980', '01012030'],
    time: ['0730', '1800'],
    dateTime: ['01022020 0730', '01012030 0730'],
    choice: isFirst ? keys : keys.toReversed(),
    choices: [keys.join(' '), ...keys],
    rank: [keys.toReversed().join(' ')],
    note: ['1'],
    accept: ['1'],
    another: [isFirst && count < 2 ? '1' : '2', '2'],
    send: ['1'],
  };
  return answers[type];
}
