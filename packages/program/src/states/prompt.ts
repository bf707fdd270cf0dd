import { z } from 'zod';
import { expressionIn, expressionSchema, nameSchema, textKeySchema } from '../actions/keyword.ts';
import { type Dialogue, forget, type Input, leaveScreen, type Reveal, type Step, stay } from '../model/dialogue.ts';
import { holds, todayOf } from '../model/evaluate.ts';
import { hasText } from '../model/locales.ts';
import type { Menu, State } from '../model/menu.ts';
import { suggest } from '../values/fault.ts';
import { backKeyFor, reservedKeys } from '../values/keys.ts';
import { maxPatternLength, patternFault } from '../values/pattern.ts';
import {
  hintsOf,
  limitValues,
  parseAnswer,
  type Question,
  questionTypes,
  takesZero,
  typeHintOf,
  type Validation,
} from '../values/question.ts';
import { longest, longestOf, toExpressionValue } from '../values/value-types.ts';
import { at, type Kind, type Press, refuse, screen } from './kind.ts';
import { optionExpressions, optionTexts } from './page.ts';

const limitSchema = z
  .union([z.number(), z.string()])
  .refine(
    (limit) => typeof limit === 'number' || limit === 'today' || z.iso.date().safeParse(limit).success,
    'must be a number, a date such as 2026-12-31, or today',
  );
const countSchema = z.int().min(0).max(160);

const questionFields = {
  type: z.enum(questionTypes).exactOptional(),
  min: limitSchema.exactOptional(),
  max: limitSchema.exactOptional(),
  pattern: z
    .string()
    .max(maxPatternLength)
    .superRefine((pattern, context) => {
      const fault = patternFault(pattern);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .exactOptional(),
  length: z
    .union([
      countSchema.transform((max) => ({ max })),
      z.strictObject({ min: countSchema.exactOptional(), max: countSchema.exactOptional() }),
    ])
    .exactOptional(),
  check: z.strictObject({ that: expressionSchema, hint: textKeySchema }).exactOptional(),
  hint: textKeySchema.exactOptional(),
  options: z
    .array(
      z.strictObject({
        text: textKeySchema,
        value: z.string().regex(/^\S{1,60}$/, 'must be one word'),
        when: expressionSchema.exactOptional(),
      }),
    )
    .min(1)
    .max(40)
    .exactOptional(),
};

const schema = z
  .strictObject({
    kind: z.literal('prompt'),
    ...screen,
    ...questionFields,
    /** A registered validator; a typed question has none. */
    validator: nameSchema.exactOptional(),
    optional: z.boolean().exactOptional(),
    when: expressionSchema.exactOptional(),
    save: nameSchema,
    /** A secret answer is never kept: only a reference by which the host finds it. */
    secret: z.boolean().default(false),
    to: nameSchema,
  })
  .transform(({ type, min, max, pattern, length, check, hint, options, ...state }, context) => {
    const limits = { min, max, pattern, length, check, hint, options };
    const given = Object.entries(limits).filter(([, value]) => value !== undefined);
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
    if (pattern !== undefined && type !== 'text')
      say('pattern', 'pattern is for texts: leave it out, or make the type text');
    if (length !== undefined && type !== 'text')
      say('length', 'length is for texts: leave it out, or make the type text');
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
  expressions: ({ when, question }) => [
    ...expressionIn(when, { path: ['when'], wanted: 'bool' }),
    ...optionExpressions(question?.options ?? []),
    ...expressionIn(question?.check?.that, { path: ['check', 'that'], wanted: 'bool', answer: question?.type }),
  ],
  texts({ text, question, validator = '', optional }, registry) {
    const hints = question ? hintsOf(question) : (registry.validators[validator]?.hints ?? []);
    return [
      { key: text, path: ['text'] },
      ...optionTexts(question?.options ?? []),
      ...(optional ? [{ key: 'common.skip', path: ['optional'] }] : []),
      ...hints.map((key) => ({ key, path: [question ? 'type' : 'validator'] })),
    ];
  },
  longest({ question, validator }, _, { say }) {
    const labels = question?.options?.map(({ text }) => say(text)) ?? [];
    const ofValidator =
      validator === 'amount' ? longestOf('decimal', 13) : longestOf('text', isName(validator) ? 40 : undefined);
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
    const isAnswer = question
      ? takesZero(question)
      : registry.validators[validator]?.check(reservedKeys.back, context).ok;
    return backKeyFor(isAnswer === true);
  },
  content({ text, question, optional }, { menu, dialogue, say }) {
    const { hint, values } = dialogue;
    const shown = question && toShownQuestion(menu, dialogue, question);
    const choices = shown?.options?.map((option, i) => ({ key: String(i + 1), label: say(option.text) })) ?? [];
    const skip = optional ? [{ key: reservedKeys.skip, label: say('common.skip') }] : [];
    const limits = question && limitValues(question, todayOf(dialogue));
    return {
      hint: hint === undefined ? undefined : say(hint, { ...values, ...limits }),
      body: say(text),
      lines: [...choices, ...skip],
    };
  },
  press(state, dialogue, press) {
    const { value } = press.input;
    if (state.optional && (value === reservedKeys.skip || value === ''))
      return press.arrive(leaveScreen(forget(dialogue, [state.save]), dialogue.secrets), state.to);
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

const isName = (validator: string | undefined) => validator === 'name';

export const isTyped = ({ question, validator }: PromptState): boolean =>
  question ? question.type === 'text' : isName(validator);

function answer(state: PromptState, dialogue: Dialogue, { menu, input, arrive }: Press): Step {
  const validation = validateAnswer(menu, dialogue, state, input);
  if (!validation.ok) return stay(dialogue, validation.hint);
  const { value, labels } = validation;
  const left = leaveScreen(forget(dialogue, [state.save]), dialogue.secrets);
  if (state.secret) return arrive({ ...left, secrets: { ...left.secrets, [state.save]: input.ref } }, state.to);
  const label = labels && { [`${state.save}.label`]: labels.join('\n') };
  return arrive({ ...left, values: { ...left.values, [state.save]: value, ...label } }, state.to);
}

export function validateAnswer(
  menu: Menu,
  dialogue: Dialogue,
  { validator, question }: PromptState,
  input: Input,
): Validation {
  if (question) {
    const parsed = parseAnswer(toShownQuestion(menu, dialogue, question), input.value, toContext(dialogue));
    if (!parsed.ok)
      return hasText(menu, dialogue, parsed.hint) ? parsed : { ok: false, hint: typeHintOf(question.type) };
    if (!question.check) return parsed;
    const answer = toExpressionValue(parsed.value, question.type);
    return holds(menu, dialogue, question.check.that, { answer }) ? parsed : { ok: false, hint: question.check.hint };
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
  const asked = dialogue.stack.findLast((id) => isAskedBy(menu.states.get(id), name));
  const state =
    asked === undefined ? [...menu.states.values()].find((each) => isAskedBy(each, name)) : menu.states.get(asked);
  if (state?.kind !== 'prompt' || !state.question) return input;
  const parsed = parseAnswer(toShownQuestion(menu, dialogue, state.question), input, toContext(dialogue));
  return parsed.ok ? parsed.value : undefined;
}

function toContext(dialogue: Dialogue) {
  return { phoneNumber: dialogue.caller?.phoneNumber ?? '', today: todayOf(dialogue) };
}

const isAskedBy = (state: State | undefined, name: string) =>
  state?.kind === 'prompt' && state.secret && state.save === name;

export function toShownQuestion(menu: Menu, dialogue: Dialogue, question: Question): Question {
  const { options } = question;
  if (!options?.some(({ when }) => when !== undefined)) return question;
  return { ...question, options: options.filter(({ when }) => when === undefined || holds(menu, dialogue, when)) };
}
