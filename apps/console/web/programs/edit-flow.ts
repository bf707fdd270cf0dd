import { isMap, isScalar, type Pair, parseDocument } from 'yaml';
import {
  addOption,
  addState,
  addText,
  changeFile,
  connectStates,
  dropTexts,
  type NewState,
  relink,
  setField,
  waysOn,
} from './edit-program.ts';
import { answersOf, dropAnswers, keepAnswers, type LostAnswer, retypeAnswer } from './kept-answers.ts';
import { toFree } from './names.ts';
import type { ProgramFiles } from './program-api.ts';
import { type ProgramModel, type ProgramState, readProgram, type StateLink, toRecord } from './read-program.ts';

function leadOn(files: ProgramFiles, state: ProgramState, to: string, ways = waysOn(state)): ProgramFiles {
  return ways.reduce((changed, { path }) => setField(changed, state, path, to), files);
}

/** The other state leads to the new one, which leads to what came after; where no way is chosen, it gets a new one. */
export function insertAfter(files: ProgramFiles, after: string, state: NewState, chosen?: StateLink[]): ProgramFiles {
  const model = readProgram(files);
  const before = model.states.get(after);
  const ways = chosen ?? (before ? waysOn(before) : []);
  const added = addState(files, model, { ...state, ...(ways[0] && { to: ways[0].to }) });
  const placed =
    before && ways[0]
      ? leadOn(added, before, state.name, ways)
      : connectStates(added, readProgram(added), after, state.name);
  return keepAnswers(placed, state.name);
}

/** Where a state can be inserted after this one, by the first link's path; `''` adds a way. The usual place is first. */
export function listPlaces(state: ProgramState): [key: string, ways: StateLink[]][] {
  const main = waysOn(state);
  const places = [main, ...state.links.filter((link) => !main.includes(link)).map((link) => [link])]
    .filter((ways) => ways.length > 0)
    .map((ways): [string, StateLink[]] => [ways[0]?.path.join('.') ?? '', ways]);
  const isChoice = ['menu', 'page'].includes(state.kind) && state.raw.from === undefined;
  if (isChoice) return places.length === 1 ? [...places, ['', []]] : [['', []], ...places];
  return state.kind === 'branch' ? [...places, ['', []]] : places;
}

export function keepLost(files: ProgramFiles, { question, record }: LostAnswer): ProgramFiles {
  const { states } = readProgram(files);
  const file = states.get(question)?.file;
  if (record !== undefined || file === undefined) return keepAnswers(files, question);
  const name = toFree('keep', new Set(states.keys()));
  return insertAfter(files, question, { name, kind: 'action', keyword: 'store', file });
}

/** Its own texts and its answer go with it, and what led to it leads to what comes after it. */
export function removeState(files: ProgramFiles, { file, name }: ProgramState): ProgramFiles {
  const model = readProgram(files);
  const own = model.states.get(name);
  const after = own && waysOn(own)[0]?.to;
  const healed = after && after !== name ? relink(files, name, after) : files;
  const removed = changeFile(healed, file, (document) => document.deleteIn(['states', name]));
  return dropTexts(own ? dropAnswers(removed, own) : removed, model);
}

export const isMovable = (state: ProgramState | undefined) => state !== undefined && waysOn(state).length > 0;

export function moveAfter(files: ProgramFiles, name: string, after: string): ProgramFiles {
  const model = readProgram(files);
  const [state, target] = [model.states.get(name), model.states.get(after)];
  const next = state && waysOn(state)[0]?.to;
  if (!state || !target || !next || next === name || name === after) return files;
  if (waysOn(target)[0]?.to === name || !isMovable(target)) return files;
  const without = relink(files, name, next);
  const targetNow = readProgram(without).states.get(after);
  const then = targetNow && waysOn(targetNow)[0]?.to;
  if (!targetNow || !then) return files;
  return leadOn(leadOn(without, targetNow, name), state, then);
}

/** The state after which a key moves this one. */
export function findNeighbour(model: ProgramModel, name: string, direction: 'up' | 'down'): string | undefined {
  const state = model.states.get(name);
  const own = state && waysOn(state)[0]?.to;
  if (direction === 'down') return own !== undefined && isMovable(model.states.get(own)) ? own : undefined;
  const before = (of: string) =>
    [...model.states.values()].find((other) => other.name !== of && waysOn(other)[0]?.to === of)?.name;
  const previous = before(name);
  return previous === undefined ? undefined : before(previous);
}

export function duplicateState(files: ProgramFiles, name: string): { files: ProgramFiles; name: string } {
  const model = readProgram(files);
  const state = model.states.get(name);
  if (!state) return { files, name };
  const copy = toFree(name, new Set(model.states.keys()));
  const keys = new Set(Array.from(model.texts.values(), (texts) => [...texts.keys()]).flat());
  let changed = files;
  const copyTexts = (value: unknown, field: string): unknown => {
    if (typeof value === 'string' && (field === 'text' || field === 'hint') && keys.has(value)) {
      const key = toFree(`${copy}.${value.split('.').slice(1).join('.') || 'text'}`, keys);
      keys.add(key);
      for (const [language, texts] of model.texts)
        if (texts.has(value))
          changed = addText(changed, { ...model, languages: [language] }, key, texts.get(value) ?? '');
      return key;
    }
    if (Array.isArray(value)) return value.map((each) => copyTexts(each, field));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyTexts(each, key)]));
  };
  const raw = toRecord(copyTexts(state.raw, ''));
  if (state.kind === 'prompt') raw.save = copy;
  changed = changeFile(changed, state.file, (document) => document.setIn(['states', copy], document.createNode(raw)));
  const connected = isMovable(state)
    ? leadOn(changed, state, copy)
    : connectStates(changed, readProgram(changed), name, copy);
  return { files: keepAnswers(connected, copy), name: copy };
}

/** Its comments move too; a file that is left empty is removed. */
export function moveToFile(files: ProgramFiles, { file, name }: ProgramState, to: string): ProgramFiles {
  if (file === to) return files;
  const states = parseDocument(files[file] ?? '').get('states');
  const pair = isMap(states) ? states.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
  if (!pair) return files;
  const added = changeFile(files, to, (document) => {
    if (!isMap(document.get('states'))) document.set('states', document.createNode({}));
    const target = document.get('states');
    if (isMap(target)) target.items.push(pair as Pair<never, never>);
  });
  const removed = changeFile(added, file, (document) => document.deleteIn(['states', name]));
  if (file === 'program.yaml' || [...readProgram(removed).states.values()].some((each) => each.file === file))
    return removed;
  const { [file]: _, ...rest } = removed;
  return rest;
}

const isChoice = (type: unknown) => type === 'choice' || type === 'choices';
const isNumber = (type: unknown) => type === 'integer' || type === 'decimal';

/** A choice of yes and no, in the words that all programs share if they have them. */
function toYesNo(files: ProgramFiles, state: ProgramState): ProgramFiles {
  const model = readProgram(files);
  const isHeir = /^extends: *palaver\b/m.test(files['program.yaml'] ?? '');
  const words = { yes: 'Yes', no: 'No' };
  const options = Object.keys(words).map((value) => ({
    text: isHeir ? `form.${value}` : `${state.name}.${value}`,
    value,
  }));
  const texts = isHeir ? [] : Object.entries(words);
  const said = texts.reduce((changed, [value, text]) => addText(changed, model, `${state.name}.${value}`, text), files);
  return dropTexts(setField(said, state, ['options'], options), model);
}

export function setAnswerType(files: ProgramFiles, state: ProgramState, type: string): ProgramFiles {
  if (type === 'yesNo') return toYesNo(setAnswerType(files, state, 'choice'), state);
  const drop = (changed: ProgramFiles, field: string) =>
    field in state.raw ? setField(changed, state, [field], undefined) : changed;
  const { type: before } = state.raw;
  let changed = retypeAnswer(setField(files, state, ['type'], type), state.name, String(state.raw.save));
  if (!(isNumber(before) && isNumber(type)) && !(isChoice(before) && isChoice(type)))
    for (const limit of ['min', 'max']) changed = drop(changed, limit);
  if (type !== 'text') for (const limit of ['pattern', 'length']) changed = drop(changed, limit);
  if (!isChoice(type)) return dropTexts(drop(changed, 'options'), readProgram(files));
  for (let count = Array.isArray(state.raw.options) ? 2 : 0; count < 2; count++) {
    const model = readProgram(changed);
    const now = model.states.get(state.name);
    if (now) changed = addOption(changed, model, now);
  }
  return changed;
}

/** A menu of the rows of a table, or of records that were found. A question becomes one, and what it saved is now a column. */
export function setListSource(files: ProgramFiles, state: ProgramState, from: Record<string, unknown>): ProgramFiles {
  const model = readProgram(files);
  const to = state.links[0]?.to ?? model.start ?? state.name;
  const { text, requires, when } = state.raw;
  const kept = Object.entries({ text, requires, when }).filter(([, value]) => value !== undefined);
  const menu = { kind: 'menu', ...Object.fromEntries(kept), from, to };
  const saved = Object.keys(toRecord(from.save));
  const dropped = dropAnswers(
    files,
    state,
    answersOf(state).filter((answer) => !saved.includes(answer)),
  );
  const changed = changeFile(dropped, state.file, (document) =>
    document.setIn(['states', state.name], document.createNode(menu)),
  );
  const retyped = saved.reduce((next, answer) => retypeAnswer(next, state.name, answer), changed);
  return dropTexts(keepAnswers(retyped, state.name), model);
}

/** The choices of a menu are written into the program again. */
export function dropListSource(files: ProgramFiles, state: ProgramState): ProgramFiles {
  const to = state.links[0]?.to ?? state.name;
  const fields = ['from', 'to', 'when'].filter((field) => field in state.raw);
  const plain = fields.reduce((next, field) => setField(next, state, [field], undefined), dropAnswers(files, state));
  const now = readProgram(plain).states.get(state.name);
  return now ? addOption(plain, readProgram(plain), now, to) : plain;
}
