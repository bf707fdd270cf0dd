import {
  around,
  type Constants,
  type FormExploration,
  type FormReply,
  type FormScreen,
  type FormSource,
  type FormToExplore,
  readConstants,
  type ShownForm,
  type Submission,
} from '@palaver/program/internal';
import type { Forms } from './forms.ts';
import { sendStop } from './walk.ts';

const strategies: readonly Strategy[] = ['first', 'last', 1, 2, 3, 4];

export async function exploreForm(forms: Pick<Forms, 'press'>, form: FormToExplore): Promise<FormExploration> {
  const { source, see, isOver, samples, ...call } = form;
  const result: FormExploration = { submissions: [], seen: new Set(), faults: [] };
  const constants = readConstants(conditionsOf(source.xml));
  const choices = choicesOf(source.xml);
  // After some answers a question may have no answer; it is a fault where no walk came past it.
  const [passed, stuck] = [new Set<string>(), new Map<string, string>()];
  for (const strategy of strategies) {
    if (isOver()) break;
    const walked = new Set<string>();
    try {
      const submission = await walkForm({
        strategy,
        constants,
        samples,
        choices,
        press: (shown, input) => forms.press(source, { ...call, progress: shown?.progress, input }),
        see(shown) {
          walked.add(plainPath(shown.progress.at));
          see(shown);
        },
      });
      result.submissions.push(submission);
      for (const at of walked) passed.add(at);
    } catch (error) {
      const { message, cause = '' } = error as WalkFault;
      if (!(error instanceof WalkFault) && !message.startsWith('a form')) throw error;
      stuck.set(message, plainPath(String(cause)));
    }
    for (const at of walked) result.seen.add(at);
  }
  for (const [message, at] of stuck) if (!passed.has(at)) result.faults.push(message);
  return result;
}

export function questionsOf({ xml }: FormSource): string[] {
  const controls = xml.matchAll(
    /<(?:\w+:)?(?:input|select1|select|range|trigger|rank)\b[^>]*?\sref="(\/[^"]+)"[^>]*>/g,
  );
  const binds = Array.from(xml.matchAll(/<bind\b[^>]*>/g), ([bind]) => bind);
  const media = binds.filter((bind) => /\stype="(?:geopoint|geotrace|geoshape|binary|intent)"/.test(bind));
  const left = new Set(media.map((bind) => /nodeset="([^"]+)"/.exec(bind)?.[1]));
  const asked = [...controls].filter(([control]) => !/\sappearance="(?:[^"]*\s)?label[\s"]/.test(control));
  return [...new Set(asked.map(([, ref = '']) => ref))].filter((ref) => !left.has(ref));
}

function conditionsOf(xml: string): string[] {
  const found = xml.matchAll(/\s(?:constraint|relevant|calculate|required)="([^"]*)"/g);
  const plain = (text: string) =>
    text
      .replace(/&quot;|&apos;/g, "'")
      .replace(/&gt;/g, '>')
      .replace(/&lt;/g, '<');
  return Array.from(found, ([, text = '']) => plain(text));
}

function choicesOf(xml: string): string[] {
  const values = Array.from(xml.matchAll(/<(name|value)>([^<>&]{1,40})<\/\1>/g), ([, , value = '']) => value.trim());
  return [...new Set(values.slice(0, 200))].slice(0, 5);
}

function plainPath(at: string): string {
  return at.replace(/\[\d+\]/g, '');
}

/** `first`: first choices, each repeat twice. `last`: last choices, and skips what it may. A number: other choices, always the same. */
type Strategy = 'first' | 'last' | number;

interface Walk {
  strategy: Strategy;
  press(shown: ShownForm | undefined, input: string | undefined): Promise<FormReply>;
  see?(shown: ShownForm): void;
  constants?: Constants;
  samples?: readonly string[];
  /** Values of the form's choices, since a constraint may ask for one of them. */
  choices?: readonly string[];
}

/** A form of a thousand questions, each asked three times. */
const maxSteps = 3_000;
/** After this many steps counts stay small and no instance is added, so that forms with nested repeats end. */
const manySteps = 100;

/** How often to change an earlier answer because a later question accepts none. */
const maxReturns = 40;

const backKeys = ['0', '00'];

interface Asked {
  shown: ShownForm;
  answers: readonly string[];
  tries: number;
}

/** Its cause is where the walk ended, if that is known. */
class WalkFault extends Error {
  override readonly name = 'WalkFault';
}

export async function walkForm(walk: Walk): Promise<Submission> {
  const { press, see } = walk;
  const asked: Asked[] = [];
  let returns = 0;
  let fault: WalkFault | undefined;
  for (let step = 0; step < maxSteps; step++) {
    const last = asked.at(-1);
    const reply = await press(last?.shown, last?.answers[last.tries]);
    if (reply.kind === 'complete') return reply.submission;
    if (reply.kind === 'left') throw new WalkFault('the form was left');
    see?.(reply);
    const isAgain = last?.shown.progress.at === reply.progress.at && reply.screen.hint !== undefined;
    if (!isAgain) asked.push({ shown: reply, answers: answersTo(reply.screen, walk, step), tries: 0 });
    else Object.assign(last, { shown: reply, tries: last.tries + 1 });
    for (let used = asked.at(-1); used && used.tries >= used.answers.length; used = asked.at(-1)) {
      asked.pop();
      fault ??= toFault(used.shown, used.answers.length);
      const before = asked.at(-1);
      if (!before || returns++ >= maxReturns) throw fault;
      before.tries += 1;
    }
  }
  throw fault ?? new WalkFault(`the form does not end after ${maxSteps} answers`);
}

function toFault({ progress: { at }, screen }: ShownForm, tried: number): WalkFault {
  // A form may stop some callers on purpose; it is a fault only if no walk reaches its end.
  if (screen.type === 'note') return new WalkFault(`${at}: forbids all answers that were tried`, { cause: sendStop });
  const isEmpty = screen.options?.length === 0;
  const fault = isEmpty ? 'shows no choice after these answers' : `accepts none of ${tried} answers`;
  return new WalkFault(`${at}: ${fault}; record a dialogue in flows/ that answers it`, { cause: at });
}

function answersTo(screen: FormScreen, walk: Walk, step: number): string[] {
  const { strategy, constants, samples = [], choices = [] } = walk;
  const { type, options = [], optional, answer, count = 0 } = screen;
  const keys = options.map(({ key }) => key);
  const seed = typeof strategy === 'number' ? (strategy * 7919 + step * 104_729) >>> 0 : 0;
  const rotate = (list: readonly string[]) => {
    const at = list.length === 0 ? 0 : seed % list.length;
    return [...list.slice(at), ...list.slice(0, at)];
  };
  const isSkipped =
    optional && type !== 'note' && (strategy === 'last' || (typeof strategy === 'number' && seed % 3 === 0));
  const numbers = around(constants?.numbers ?? []);
  const isLate = step >= manySteps;
  const small = isLate ? ['1'] : [];
  const texts = constants?.texts ?? [];
  const common = ['a', '12345', '0712345678', 'ana@example.org', 'ABC-123'];
  const ordered = strategy === 'last' ? keys.toReversed() : rotate(keys);
  const two = ordered.slice(0, 2);
  const answers: Record<FormScreen['type'], string[]> = {
    text: rotate(['Ana', ...texts, ...samples, ...common, ...choices, ...numbers]),
    integer: [...small, ...rotate(['3', '1', '12', '0', '40']), '100', '2020', ...numbers, ...samples, '-1'],
    decimal: [...rotate(['2.5', '12', '0.5', '100', '0']), ...numbers, ...samples, '-1'],
    date: ['01022020', '01011980', '01012030', today(), ...samples],
    time: ['0730', '1800'],
    dateTime: ['01022020 0730', '01012030 0730', `${today()} 0730`],
    choice: ordered,
    choices: [...(typeof strategy === 'number' ? two : []), keys.join(' '), two.join(' '), ...ordered],
    rank: [keys.toReversed().join(' ')],
    note: ['1'],
    accept: ['1'],
    another: [strategy !== 'last' && count < 2 && !isLate ? '1' : '2', '2', '1'],
    send: ['1'],
  };
  const isKept = answer !== undefined && strategy === 'last';
  const given = answers[type].filter((input) => type !== 'text' || !backKeys.includes(input));
  if (isSkipped || isKept) return ['000', ...given];
  // After some earlier answers the question must be left out.
  return optional && type !== 'note' ? [...given, '000'] : given;
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
