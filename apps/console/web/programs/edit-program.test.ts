import { expect, test } from 'vitest';
import { diffPrograms } from './diff-programs.ts';
import { withFile } from './draft.tsx';
import {
  dropListSource,
  duplicateState,
  findNeighbour,
  insertAfter,
  keepLost,
  listPlaces,
  moveAfter,
  moveToFile,
  removeState,
  setAnswerType,
  setListSource,
} from './edit-flow.ts';
import {
  addOption,
  addState,
  connectStates,
  renameState,
  setField,
  setHeader,
  setIdentity,
  setText,
} from './edit-program.ts';
import { addRecordField, findLostAnswers, renameAnswer } from './kept-answers.ts';
import { newKinds } from './keywords.ts';
import { templates } from './names.ts';
import type { ProgramFiles } from './program-api.ts';
import { FaultyFile, readProgram } from './read-program.ts';
import { createProgram } from './template-files.ts';

const files: ProgramFiles = {
  ...createProgram({ name: 'seeds', title: 'Seeds', code: '*384*7#', template: 'blank' }),
  'more.yaml': `# Kept by Ana.
states:
  ask: # a question
    kind: prompt
    text: ask.text
    type: integer
    save: count
    to: home
  keep: { kind: action, store: order, fields: {}, outcomes: { stored: ask, failed: { to: home, hint: ask.hint } } }
  pick: { kind: branch, when: [{ that: count > 3, to: ask }], else: home }
`,
};

test('a state is renamed with everything that leads to it, and comments stay', () => {
  const renamed = renameState(renameState(files, 'ask', 'howMany'), 'home', 'main');
  const { states, start } = readProgram(renamed);
  expect(start).toBe('main');
  expect(renamed['more.yaml']).toMatch(/^# Kept by Ana\.\n[\s\S]*howMany:\s+# a question\n/);
  expect(states.get('howMany')?.links.map(({ to }) => to)).toEqual(['main']);
  expect(states.get('keep')?.links.map(({ to }) => to)).toEqual(['howMany', 'main']);
  expect(states.get('pick')?.links.map(({ to }) => to)).toEqual(['howMany', 'main']);
  expect(readProgram(renamed).outside).toEqual([]);
  expect(renameState(files, 'ask', 'home')).toBe(files);
  const added = addState(files, readProgram(files), { name: 'fresh', kind: 'end', file: 'more.yaml' });
  const renamed2 = renameState(added, 'fresh', 'last');
  expect([...readProgram(renamed2).states.keys()]).toContain('last');
  // The first keeps its text when there is another of its old name.
  const again = addState(renamed2, readProgram(renamed2), {
    name: 'fresh',
    kind: 'end',
    file: 'more.yaml',
    text: 'Bye',
  });
  expect(readProgram(again).texts.get('en')?.get('fresh.text')).toBe('fresh');
  expect(readProgram(again).states.get('fresh')?.raw.text).toBe('fresh.text2');
});

test('states, choices, fields and texts change their files alone, and a person reads what has changed', () => {
  const model = readProgram(files);
  const ask = model.states.get('ask');
  const home = model.states.get('home');
  if (!ask || !home) throw new Error('the program has lost its states');
  expect(setField(files, ask, ['max'], 50)['more.yaml']).toContain('max: 50');
  expect(setField(files, ask, ['type'], undefined)['more.yaml']).not.toContain('type:');
  expect(setText(files, 'en', 'home.text', 'Karibu')['locales/en.yaml']).toContain('text: Karibu');
  // A space is typed before the word that follows it.
  const typed = setText(files, 'en', 'home.text', 'Karibu ');
  expect(readProgram(typed).texts.get('en')?.get('home.text')).toBe('Karibu ');
  expect(setField(files, ask, ['max'], 50)['program.yaml']).toBe(files['program.yaml']);
  const withOption = readProgram(addOption(files, model, home, 'ask'));
  expect(withOption.states.get('home')?.links.map(({ to }) => to)).toEqual(['about', 'ask']);
  expect(withOption.texts.get('en')?.get('home.option')).toBe('New choice');

  const added = addState(files, model, { name: 'bye', kind: 'end', file: 'more.yaml' });
  const changed = removeState(setText(added, 'en', 'about.text', 'All about seeds.'), ask);
  const { changes, ...diff } = diffPrograms(files, changed);
  // What led to the question leads to what came after it.
  expect(diff).toEqual({ added: ['bye'], removed: ['ask'], changed: ['keep', 'pick', 'about'] });
  expect(changes).toEqual([
    { is: 'isNew', name: 'bye', kind: 'end' },
    { is: 'isRemoved', name: 'ask', kind: 'prompt' },
    { is: 'differs', name: 'keep', fields: ['outcomes'] },
    { is: 'differs', name: 'pick', fields: ['when'] },
    { is: 'changedText', language: 'en', was: 'What this service is for.', text: 'All about seeds.' },
    { is: 'newText', language: 'en', key: 'bye.text', text: 'bye' },
  ]);
  expect(diffPrograms(files, files).changes).toEqual([]);
});

test('a line on the map becomes what its state has for it', () => {
  const model = readProgram(files);
  const linksAfter = (from: string, to: string) =>
    readProgram(connectStates(files, model, from, to))
      .states.get(from)
      ?.links.map((link) => link.to);
  expect(linksAfter('home', 'ask')).toEqual(['about', 'ask']);
  expect(linksAfter('about', 'home')).toEqual(['home']);
  expect(linksAfter('ask', 'about')).toEqual(['about']);
  expect(linksAfter('pick', 'about')).toEqual(['ask', 'about', 'home']);
  // What still leads to the start follows the line; the rest stays.
  expect(linksAfter('keep', 'about')).toEqual(['ask', 'about']);
  expect(connectStates(files, model, 'home', 'nowhere')).toBe(files);
});

test('the first action that keeps records declares them, with the types of the answers', () => {
  const added = addState(files, readProgram(files), {
    name: 'order',
    kind: 'action',
    keyword: 'store',
    file: 'more.yaml',
  });
  const order = () => readProgram(added).states.get('order') ?? expect.fail('the state is missing');
  expect(order().raw).toMatchObject({ store: 'order', fields: {}, outcomes: { stored: 'home' } });
  const kept = addRecordField(
    addRecordField(added, readProgram(added), order(), 'count'),
    readProgram(added),
    order(),
    'name',
  );
  expect(readProgram(kept).records).toEqual({ order: { count: 'integer', name: 'text' } });
  expect(readProgram(kept).states.get('order')?.raw.fields).toEqual({ count: 'count', name: 'name' });
  const next = addState(kept, readProgram(kept), {
    name: 'orders',
    kind: 'action',
    keyword: 'find',
    file: 'more.yaml',
  });
  expect(readProgram(next).states.get('orders')?.raw).toMatchObject({ find: 'order', save: 'ordersRows' });
  expect(readProgram(next).records).toEqual(readProgram(kept).records);
});

test('every kind of new state leads somewhere and has its texts', () => {
  const model = readProgram(files);
  for (const kind of newKinds) {
    const changed = readProgram(addState(files, model, { name: 'fresh', kind, file: 'more.yaml' }));
    expect(changed.states.get('fresh')?.kind).toBe(kind);
    expect(changed.states.get('fresh')?.links.every(({ to }) => to === 'home')).toBe(true);
    const hasText = ['menu', 'prompt', 'page', 'end', 'action'].includes(kind);
    expect(changed.texts.get('en')?.has('fresh.text')).toBe(hasText);
  }
});

test('a file that is not YAML is changed by no field, and its line is named', () => {
  const broken = { ...files, 'more.yaml': `${files['more.yaml']}  last: { kind: "page\n` };
  const ask = readProgram(files).states.get('ask') ?? expect.fail('the state is missing');
  expect(() => setField(broken, ask, ['to'], 'about')).toThrow(new FaultyFile('more.yaml', 12));
  expect(() => renameState(broken, 'ask', 'asked')).toThrow(FaultyFile);
});

const survey = createProgram({ name: 'wells', title: 'Wells', code: '*384*7#', template: 'survey' });
const order = (changed: ProgramFiles) => {
  const { states } = readProgram(changed);
  const names = ['people'];
  for (let next = states.get('people'); next; next = states.get(names.at(-1) ?? '')) {
    const to = next.links.findLast(({ path }) => path[0] === 'to' || path[0] === 'outcomes')?.to;
    if (to === undefined) break;
    names.push(to);
  }
  return names;
};
const stateOf = (changed: ProgramFiles, name: string) => readProgram(changed).states.get(name) ?? expect.fail(name);

test('a question is inserted after another, duplicated, moved and removed: the others stay connected', () => {
  expect(order(survey)).toEqual(['people', 'water', 'needs', 'keep', 'thanks']);
  const inserted = insertAfter(survey, 'people', {
    name: 'far',
    kind: 'prompt',
    file: 'program.yaml',
    text: 'How far?',
  });
  expect(order(inserted)).toEqual(['people', 'far', 'water', 'needs', 'keep', 'thanks']);
  expect(readProgram(inserted).texts.get('en')?.get('far.text')).toBe('How far?');

  const copy = duplicateState(inserted, 'water');
  expect(copy.name).toBe('water2');
  expect(order(copy.files)).toEqual(['people', 'far', 'water', 'water2', 'needs', 'keep', 'thanks']);
  expect(stateOf(copy.files, 'water2').raw).toMatchObject({ text: 'water2.text', save: 'water2' });
  expect(readProgram(copy.files).texts.get('en')?.get('water2.tap')).toBe('A tap');

  const moved = moveAfter(copy.files, 'far', 'needs');
  expect(order(moved)).toEqual(['people', 'water', 'water2', 'needs', 'far', 'keep', 'thanks']);
  expect(moveAfter(moved, 'far', 'needs')).toBe(moved);
  const model = readProgram(moved);
  expect(findNeighbour(model, 'water', 'down')).toBe('water2');
  expect(order(moveAfter(moved, 'needs', findNeighbour(model, 'needs', 'up') ?? ''))).toEqual([
    ...['people', 'water', 'needs', 'water2', 'far', 'keep', 'thanks'],
  ]);
  // What nothing leads past stays where it is.
  expect(moveAfter(moved, 'thanks', 'people')).toBe(moved);

  const removed = removeState(moved, stateOf(moved, 'water2'));
  expect(order(removed)).toEqual(['people', 'water', 'needs', 'far', 'keep', 'thanks']);
  expect(removed['locales/en.yaml']).not.toContain('water2');
  expect(removed['locales/en.yaml']).toContain('A tap');
});

test('a question becomes one of choices and back, and takes its texts with it', () => {
  const asked = setAnswerType(survey, stateOf(survey, 'people'), 'choice');
  expect(stateOf(asked, 'people').raw).toMatchObject({
    type: 'choice',
    options: [
      { text: 'people.option', value: 'choice' },
      { text: 'people.option2', value: 'choice2' },
    ],
  });
  expect(stateOf(asked, 'people').raw.min).toBeUndefined();
  const back = setAnswerType(asked, stateOf(asked, 'people'), 'integer');
  expect(stateOf(back, 'people').raw.options).toBeUndefined();
  expect(back['locales/en.yaml']).toBe(survey['locales/en.yaml']);
});

test('yes or no is a choice in words that other programs have', () => {
  const asked = setAnswerType(survey, stateOf(survey, 'people'), 'yesNo');
  expect(stateOf(asked, 'people').raw).toMatchObject({
    type: 'choice',
    options: [
      { text: 'form.yes', value: 'yes' },
      { text: 'form.no', value: 'no' },
    ],
  });
  expect(asked['locales/en.yaml']).toBe(survey['locales/en.yaml']);
  const alone = { ...survey, 'program.yaml': (survey['program.yaml'] ?? '').replace(/^extends.*\n/m, '') };
  const own = readProgram(setAnswerType(alone, stateOf(alone, 'people'), 'yesNo'));
  expect(own.texts.get('en')?.get('people.yes')).toBe('Yes');
});

test('choices come from a table and are written again; a state changes its group; a form gets a state', () => {
  const home = stateOf(survey, 'home');
  const table = setListSource({ ...survey, 'data/crops.csv': 'id,name' }, home, {
    csv: 'data/crops.csv',
    text: 'name',
  });
  expect(stateOf(table, 'home').raw).toMatchObject({ from: { csv: 'data/crops.csv' }, to: 'people' });
  expect(table['locales/en.yaml']).not.toContain('Begin');
  const written = dropListSource(table, stateOf(table, 'home'));
  expect(stateOf(written, 'home').raw).toMatchObject({ options: [{ to: 'people' }] });

  const grouped = moveToFile(survey, stateOf(survey, 'water'), 'questions.yaml');
  expect(stateOf(grouped, 'water').file).toBe('questions.yaml');
  expect(order(grouped)).toEqual(order(survey));
  const back = moveToFile(grouped, stateOf(grouped, 'water'), 'program.yaml');
  expect(Object.keys(back)).toEqual(Object.keys(survey));

  const withForm = withFile(survey, 'forms/Farm-visit.xml', '<xml/>');
  expect(stateOf(withForm, 'farmVisit').raw).toMatchObject({ kind: 'form', form: 'forms/Farm-visit.xml' });
  expect(stateOf(withForm, 'home').links.map(({ to }) => to)).toEqual(['people', 'farmVisit']);
});

test('a question becomes a list of the rows of a table: its answer stays where it was kept, under any name', () => {
  const from = { csv: 'data/springs.csv', text: 'name', save: { water: 'name' } };
  const files = { ...survey, 'data/springs.csv': 'id,name\n1,Kibo\n' };
  const listed = setListSource(files, stateOf(files, 'water'), from);
  expect(stateOf(listed, 'water').raw).toEqual({ kind: 'menu', text: 'water.text', from, to: 'needs' });
  expect(stateOf(listed, 'keep').raw).toEqual(stateOf(survey, 'keep').raw);
  expect(listed['locales/en.yaml']).not.toContain('A tap');
  const renamed = renameAnswer(listed, stateOf(listed, 'water'), ['water', 'spring']);
  expect(stateOf(renamed, 'water').raw.from).toEqual({ ...from, save: { spring: 'name' } });
  expect(stateOf(renamed, 'keep').raw.fields).toMatchObject({ water: 'spring' });
  const added = insertAfter(files, 'water', { name: 'far', kind: 'menu', file: 'program.yaml' });
  const kept = setListSource(added, stateOf(added, 'far'), { ...from, save: { far: 'name' } });
  expect(stateOf(kept, 'keep').raw.fields).toMatchObject({ far: 'far' });
  expect(readProgram(kept).records.answer).toMatchObject({ far: 'text' });
  const found = setListSource(kept, stateOf(kept, 'far'), { list: 'mine', text: 'people', save: { people: 'people' } });
  const other = renameAnswer(found, stateOf(found, 'far'), ['people', 'theirs']);
  expect(stateOf(other, 'keep').raw.fields).toMatchObject({ people: 'people' });
  const byNumber = setListSource(added, stateOf(added, 'far'), { ...from, save: { far: 'id' } });
  expect(readProgram(byNumber).records.answer).toMatchObject({ far: 'integer' });
  const fields = ({ raw }: { raw: Record<string, unknown> }) => Object.keys(raw.fields as object);
  expect(fields(stateOf(removeState(kept, stateOf(kept, 'far')), 'keep'))).not.toContain('far');
});

test('the answer of a question is kept where that of the question before it is', () => {
  const ask = (changed: ProgramFiles, after: string, name: string) =>
    insertAfter(changed, after, { name, kind: 'prompt', file: 'program.yaml' });
  const kept = (changed: ProgramFiles, action: string) => stateOf(changed, action).raw.fields;
  const added = ask(survey, 'water', 'wells');
  const typed = setAnswerType(added, stateOf(added, 'wells'), 'integer');
  expect(kept(typed, 'keep')).toEqual({ people: 'people', water: 'water', needs: 'needs', wells: 'wells' });
  expect(readProgram(typed).records.answer).toMatchObject({ wells: 'integer' });
  const renamed = renameAnswer(typed, stateOf(typed, 'wells'), ['wells', 'wellCount']);
  expect(kept(renamed, 'keep')).toMatchObject({ wells: 'wellCount' });
  expect(kept(removeState(renamed, stateOf(renamed, 'wells')), 'keep')).toEqual(kept(survey, 'keep'));
  expect(kept(duplicateState(survey, 'water').files, 'keep')).toMatchObject({ water: 'water', water2: 'water2' });

  const blank = createProgram({ name: 'empty', title: 'Empty', code: '*384*7#', template: 'blank' });
  const one = ask(ask(blank, 'home', 'one'), 'one', 'two');
  const dated = setAnswerType(one, stateOf(one, 'two'), 'date');
  const stored = insertAfter(dated, 'two', { name: 'keep', kind: 'action', keyword: 'store', file: 'program.yaml' });
  expect(kept(stored, 'keep')).toEqual({ one: 'one', two: 'two' });
  expect(readProgram(stored).records).toEqual({ keep: { one: 'text', two: 'date' } });
});

test('a question after the menu is on the way to the others and kept; a question that nothing keeps is found', () => {
  const ask = (changed: ProgramFiles, after: string, name: string, place?: string) => {
    const ways = place === undefined ? undefined : new Map(listPlaces(stateOf(changed, after))).get(place);
    return insertAfter(changed, after, { name, kind: 'prompt', file: 'program.yaml' }, ways);
  };
  const lost = (changed: ProgramFiles) => findLostAnswers(readProgram(changed));
  const kept = (changed: ProgramFiles) => stateOf(changed, 'keep').raw.fields;
  expect(listPlaces(stateOf(survey, 'home')).map(([key]) => key)).toEqual(['options.0.to', '']);
  const first = ask(survey, 'home', 'village', 'options.0.to');
  expect(stateOf(first, 'home').links.map(({ to }) => to)).toEqual(['village']);
  expect(order(first)).toEqual(order(survey));
  expect(stateOf(first, 'village').raw.to).toBe('people');
  expect(kept(first)).toMatchObject({ village: 'village' });
  expect(lost(first)).toEqual([]);

  const choice = ask(first, 'home', 'name', '');
  expect(stateOf(choice, 'home').links.map(({ to }) => to)).toEqual(['village', 'name']);
  expect(lost(choice)).toEqual([{ question: 'name', record: undefined }]);
  const led = setField(choice, stateOf(choice, 'name'), ['to'], 'people');
  expect(lost(led)).toEqual([{ question: 'name', record: 'answer' }]);
  expect(kept(keepLost(led, { question: 'name', record: 'answer' }))).toMatchObject({ name: 'name' });
  const stored = keepLost(choice, { question: 'name', record: undefined });
  expect(stateOf(stored, 'keep2').raw).toMatchObject({ store: 'answer', fields: { name: 'name' } });
  expect(lost(stored)).toEqual([]);

  // A question after a choice of two ways is kept by what they lead to.
  const branched = insertAfter(survey, 'water', { name: 'split', kind: 'branch', file: 'program.yaml' });
  const deep = setField(branched, stateOf(branched, 'split'), ['when', 0, 'to'], 'needs');
  expect(kept(ask(deep, 'split', 'depth', 'when.0.to'))).toMatchObject({ depth: 'depth' });
});

test.each(templates)('no answer of the template %s is lost', (template) => {
  const files = createProgram({ name: 'mine', title: 'My line', code: '*384*9#', template });
  expect(findLostAnswers(readProgram(files))).toEqual([]);
});

test.each(templates)('the template %s has a title and a code of its own', async (template) => {
  const model = readProgram(createProgram({ name: 'mine', title: 'My line', code: '*384*9#', template }));
  expect(model).toMatchObject({ name: 'mine', title: 'My line', codes: ['*384*9#'], outside: [] });
  expect(Object.keys(model.files).filter((path) => path.startsWith('flows/'))).toEqual([]);
  // A keyword opens one program alone.
  const copy = setIdentity(setHeader(model.files, 'keywords', ['prices']), { name: 'copy', title: 'Copy', codes: [] });
  expect(readProgram(copy)).toMatchObject({ name: 'copy', codes: [], keywords: [] });
});
