import { z } from 'zod';
import { conditionSchema, nameSchema } from '../actions/keyword.ts';
import { type Dialogue, forget, type Input, leaveScreen, type Reveal, type Step, stay } from '../model/dialogue.ts';
import { holds, todayOf } from '../model/evaluate.ts';
import { hasText } from '../model/locales.ts';
import type { Menu, Validation } from '../model/menu.ts';
import { suggest } from '../values/fault.ts';
import { backKeyFor, reservedKeys } from '../values/keys.ts';
import { longest, longestOf, toExpressionValue } from '../values/value-types.ts';
import { at, type Kind, type Move, type Press, refuse, screen } from './kind.ts';
import { isOffered } from './page.ts';
import { limitValues, parseAnswer, type Question, questionFields, takesZero, typeHintOf } from './question.ts';

const schema = z
  .strictObject({
    kind: z.literal('prompt'),
    ...screen,
    ...questionFields,
    validator: nameSchema.exactOptional(),
    optional: z.boolean().exactOptional(),
    when: conditionSchema.exactOptional(),
    save: nameSchema,
    /** A secret answer is never kept: only a reference by which the host finds it. */
    secret: z.boolean().default(false),
    to: nameSchema,
  })
  .transform(({ type, min, max, pattern, length, check, hint, options, ...state }, context) => {
    const fields = { min, max, pattern, length, check, hint, options };
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    const say = (path: string, message: string) => refuse(context, path, message);
    if ((type === undefined) === (state.validator === undefined))
      say('type', 'a prompt needs either a type or a validator: give exactly one');
    if (type === undefined) {
      for (const [name] of given) say(name, `${name} needs a type: add one, or leave it out`);
      return state;
    }
    const isChoice = type === 'choice' || type === 'choices';
    if (isChoice !== (options !== undefined))
      say('options', 'options belong to the types choice and choices: add them there, and leave them out elsewhere');
    for (const [name, value] of Object.entries({ pattern, length }))
      if (value !== undefined && type !== 'text')
        say(name, `${name} is for texts: leave it out, or make the type text`);
    if ([min, max].some((limit) => limit !== undefined && (typeof limit === 'string') !== (type === 'date')))
      say('min', `min and max do not fit the type ${type}: dates are for the type date, numbers for others`);
    const question: Question = { type, ...Object.fromEntries(given) };
    return { ...state, question };
  });
export type PromptState = z.infer<typeof schema> & { question?: Question };

export const prompt: Kind<PromptState> = {
  shows: 'a question',
  leadsTo: '`to`, once its `validator` accepts the answer',
  schema,
  targets: ({ to, save }) => [at('to', to, save)],
  gives: ({ secret, save, question, validator = '' }, { registry }) => [
    [save, secret ? 'secret' : (question?.type ?? registry.validators[validator]?.type ?? 'text')],
  ],
  texts({ question, validator = '', optional }, { validators }) {
    const skip = optional ? [{ key: 'common.skip', path: ['optional'] }] : [];
    if (question?.hint !== undefined) return skip;
    if (question) return [{ key: typeHintOf(question.type), path: ['type'] }, ...skip];
    return [...(validators[validator]?.hints ?? []).map((key) => ({ key, path: ['validator'] })), ...skip];
  },
  longest({ question, validator }, _, { say }) {
    const labels = question?.options?.map(({ text }) => say(text)) ?? [];
    const ofName = longestOf('text', validator === 'name' ? 40 : undefined);
    const ofValidator = validator === 'amount' ? longestOf('decimal', 13) : ofName;
    const values = [question ? longestAnswer(question) : ofValidator];
    return { values, labels: question?.type === 'choices' ? [labels.join(', ')] : labels };
  },
  check({ validator, back }, { registry: { validators }, say }) {
    if (validator !== undefined && !Object.hasOwn(validators, validator))
      say(['validator'], `there is no validator ${validator}${suggest(validator, Object.keys(validators))}`);
    if (!back) say(['back'], 'a prompt must have a way back: leave out `back: false`');
  },
  isQuestion: () => true,
  backKey({ question, validator = '' }, { registry }) {
    const context = { answer: () => undefined, phoneNumber: '' };
    if (question) return backKeyFor(takesZero(question));
    return backKeyFor(registry.validators[validator]?.check(reservedKeys.back, context).ok === true);
  },
  content({ text, question, optional }, { menu, dialogue, say }) {
    const { options = [] } = question ? toShownQuestion(menu, dialogue, question) : {};
    const choices = options.map((option, i) => ({ key: String(i + 1), label: say(option.text) }));
    const skip = optional ? [{ key: reservedKeys.skip, label: say('common.skip') }] : [];
    const limits = question && limitValues(question, todayOf(dialogue));
    const hint = dialogue.hint && say(dialogue.hint, { ...dialogue.values, ...limits });
    return { hint, body: say(text), lines: [...choices, ...skip] };
  },
  press(state, dialogue, press) {
    const { value } = press.input;
    if (state.optional && (value === reservedKeys.skip || value === ''))
      return { dialogue: leaveScreen(forget(dialogue, [state.save]), dialogue.secrets), to: state.to };
    return press.navigate(dialogue) ?? answer(state, dialogue, press);
  },
  outline: ['[/', '/]'],
  editor: {
    title: 'Question',
    draft: { text: '{name}.text', type: 'text', save: '{name}', to: '{to}' },
    texts: { '{name}.text': '{text}' },
  },
};

function longestAnswer({ type, options = [], length, min = 0, max }: Question): string {
  const values = options.map(({ value }) => value);
  if (type === 'choice') return longest(values);
  if (type === 'choices') return values.join(' ');
  if (type === 'text') return longestOf(type, length?.max);
  if (type === 'date' || max === undefined) return longestOf(type);
  return longestOf(type, Math.max(String(min).length, String(max).length) + (type === 'decimal' ? 7 : 0));
}

export const isTyped = ({ question, validator }: PromptState): boolean =>
  question ? question.type === 'text' : validator === 'name';

function answer(state: PromptState, dialogue: Dialogue, { menu, input }: Press): Step | Move {
  const validation = validateAnswer(menu, dialogue, state, input);
  if (!validation.ok) return stay(dialogue, validation.hint);
  const { value, labels } = validation;
  const { save, to, secret } = state;
  const left = leaveScreen(forget(dialogue, [save]), dialogue.secrets);
  if (secret) return { dialogue: { ...left, secrets: { ...left.secrets, [save]: input.ref } }, to };
  const label = labels && { [`${save}.label`]: labels.join('\n') };
  return { dialogue: { ...left, values: { ...left.values, [save]: value, ...label } }, to };
}

export function validateAnswer(menu: Menu, dialogue: Dialogue, state: PromptState, input: Input): Validation {
  const { validator, question } = state;
  if (question) {
    const { type, check } = question;
    const parsed = parseAnswer(toShownQuestion(menu, dialogue, question), input.value, toContext(dialogue));
    if (!parsed.ok) return hasText(menu, dialogue, parsed.hint) ? parsed : { ok: false, hint: typeHintOf(type) };
    if (!check || holds(menu, dialogue, check.that, { answer: toExpressionValue(parsed.value, type) })) return parsed;
    return { ok: false, hint: check.hint };
  }
  const validation = menu.registry.validators[validator ?? '']?.check(input.value, {
    answer: (name) => {
      const ref = dialogue.secrets[name];
      return ref === undefined ? dialogue.values[name] : input.reveal(ref);
    },
    phoneNumber: toContext(dialogue).phoneNumber,
  });
  if (!validation) throw new Error(`no validator named ${validator}`);
  return validation;
}

/** An answer by its name. Of a secret choice it is the value, not the key that was pressed. */
export function findAnswer(menu: Menu, dialogue: Dialogue, name: string, reveal: Reveal): string | undefined {
  const ref = dialogue.secrets[name];
  const input = ref === undefined ? undefined : reveal(ref);
  if (input === undefined) return dialogue.values[name];
  const asks = (id: string) => {
    const state = menu.states.get(id);
    return state?.kind === 'prompt' && state.secret && state.save === name;
  };
  const state = menu.states.get(dialogue.stack.findLast(asks) ?? [...menu.states.keys()].find(asks) ?? '');
  if (state?.kind !== 'prompt' || !state.question) return input;
  const parsed = parseAnswer(toShownQuestion(menu, dialogue, state.question), input, toContext(dialogue));
  return parsed.ok ? parsed.value : undefined;
}

function toContext(dialogue: Dialogue) {
  return { phoneNumber: dialogue.caller?.phoneNumber ?? '', today: todayOf(dialogue) };
}

export function toShownQuestion(menu: Menu, dialogue: Dialogue, question: Question): Question {
  const { options } = question;
  if (!options?.some(({ when }) => when !== undefined)) return question;
  return { ...question, options: options.filter((option) => isOffered(option, menu, dialogue)) };
}
