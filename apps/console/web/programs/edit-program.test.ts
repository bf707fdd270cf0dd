import { expect, test } from 'vitest';
import { diffPrograms } from './diff-programs.ts';
import {
  addOption,
  addRecordField,
  addState,
  connectStates,
  newKinds,
  newProgram,
  removeState,
  renameState,
  setField,
  setText,
} from './edit-program.ts';
import type { ProgramFiles } from './program-api.ts';
import { FaultyFile, readProgram } from './read-program.ts';

const files: ProgramFiles = {
  ...newProgram('seeds', '*384*7#'),
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
  expect(withOption.texts.get('en')?.get('home.option2')).toBe('New choice');

  const added = addState(files, model, { name: 'bye', kind: 'end', file: 'more.yaml' });
  const changed = removeState(setText(added, 'en', 'about.text', 'All about seeds.'), ask);
  const { changes, ...diff } = diffPrograms(files, changed);
  expect(diff).toEqual({ added: ['bye'], removed: ['ask'], changed: ['about'] });
  expect(changes).toEqual([
    { is: 'isNew', name: 'bye', kind: 'end' },
    { is: 'isRemoved', name: 'ask', kind: 'prompt' },
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
