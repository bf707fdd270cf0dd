import { memoryLimits } from '@palaver/contract/internal';
import { openStore, type Store } from '@palaver/store';
import { createTestDatabase, engines } from '@palaver/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMemoryStore, type MemoryStore, memoryMigrations, toSearchTerms, toWords } from './memory-store.ts';

const fact = (text: string) => ({ text, kind: 'fact' as const });
const texts = (memories: { text: string }[]) => memories.map(({ text }) => text);
/** How many of the terms the text has a word for. */
const score = (text: string, terms: string[]) =>
  terms.filter((term) => toWords(text).some((word) => word.startsWith(term))).length;

describe.each(engines)('the store on %s', (engine) => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  // biome-ignore lint/suspicious/noExplicitAny: the tables are the memory's own.
  let store: Store<any>;
  let memories: MemoryStore;
  let rooms = 0;
  const createRoom = async (...known: string[]) => {
    rooms += 1;
    const room = `room${rooms}`;
    for (const text of known) await memories.add(room, fact(text));
    return room;
  };

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    store = await openStore(database.url);
    await store.migrate('agent-memory', memoryMigrations);
    memories = createMemoryStore(store);
  });
  afterAll(async () => {
    await store.close();
    await database[Symbol.asyncDispose]();
  });

  const known = [
    'Ana keeps three goats in Nyeri',
    'The goat called Simba is ill',
    'Ana speaks Swahili and French',
    "L'été, les chèvres montent",
    '山羊 住在 山上',
  ];
  const searches: [query: string, found: number[]][] = [
    ['goat', [1, 0]],
    ['GOATS!', [1, 0]],
    ['ana goats', [0, 2, 1]],
    ['my goat', [1, 0]],
    ['chevre', [3]],
    ['Été', [3]],
    ['山羊', [4]],
    ['nyer', [0]],
    ['oats', []],
    ['horse', []],
    ['"); drop table', []],
    ["' | 'goat':* -- ana & !french", [1, 2, 0]],
    ['—', []],
  ];

  test.each(searches)('%j finds the same on both engines, the best first', async (query, found) => {
    const room = await createRoom(...known);
    const { memories: page, total } = await memories.list(room, { query, limit: 20, offset: 0 });
    const expected = found.map((index) => known[index]);
    // Where two meet as many words the newer comes first.
    expect(new Set(texts(page))).toEqual(new Set(expected));
    expect(total).toBe(expected.length);
    const terms = toSearchTerms(query);
    const scores = page.map(({ text }) => score(text, terms));
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  test('whatever is remembered and asked, the engine finds what the words say', async () => {
    const word = fc.constantFrom(
      'ana',
      'Goat',
      'goats',
      'go',
      'été',
      'ete',
      '山羊',
      'x',
      "d'or",
      '12',
      'हि',
      'AND',
      'or',
    );
    const phrase = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(phrase, { maxLength: 6 }), phrase, async (stored, query) => {
        const room = await createRoom(...stored);
        const terms = toSearchTerms(query);
        const expected = stored
          .map((text, index) => ({ text, index, score: score(text, terms) }))
          .filter(({ score }) => score > 0)
          .sort((a, b) => b.score - a.score || b.index - a.index);
        expect(texts(await memories.find(room, query, 20))).toEqual(texts(expected));
        const all = expected.filter(({ score }) => score === terms.length);
        expect(texts(await memories.findAll(room, query))).toEqual(texts(all));
      }),
      { numRuns: 40 },
    );
  });

  test('the order is that of the index, so that a search reads no text which is not on its page', async () => {
    const room = await createRoom('goats of Ana', 'goats');
    await store.db.updateTable('agent_memory').set({ text: 'altered' }).where('text', '=', 'goats of Ana').execute();
    expect(texts(await memories.find(room, 'goats Ana', 2))).toEqual(['altered', 'goats']);
  });

  test('pages of a search and of everything follow on from each other', async () => {
    const room = await createRoom(...Array.from({ length: 7 }, (_, index) => `goat ${index}`));
    for (const query of [undefined, 'goat']) {
      const pages = await Promise.all(
        [0, 3, 6].map((offset) => memories.list(room, { ...(query && { query }), limit: 3, offset })),
      );
      expect(pages.map(({ memories: page, total }) => [page.length, total])).toEqual([
        [3, 7],
        [3, 7],
        [1, 7],
      ]);
      expect(texts(pages.flatMap(({ memories: page }) => page))).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `goat ${n}`));
    }
  });

  test('the same thing is remembered once, also when sent many times at once', async () => {
    const room = await createRoom();
    const kept = await Promise.all(Array.from({ length: 10 }, () => memories.add(room, fact('Ana keeps goats'))));
    expect(new Set(kept.map((memory) => memory?.id)).size).toBe(1);
    expect(await memories.count(room)).toBe(1);
  });

  test('a full room takes no more, and again after something is forgotten', async () => {
    const room = await createRoom('the first');
    const row = (index: number) => ({
      id: `${room}-${String(index).padStart(4, '0')}`,
      room_id: room,
      kind: 'fact',
      text: `${index}`,
      digest: `${index}`,
      words: `${index}`,
      created_at: 0,
    });
    const rows = Array.from({ length: memoryLimits.count - 2 }, (_, index) => row(index));
    for (let start = 0; start < rows.length; start += 100)
      await store.db
        .insertInto('agent_memory')
        .values(rows.slice(start, start + 100))
        .execute();
    await memories.add(room, fact('998'));
    expect(await memories.add(room, fact('one more'))).toBeUndefined();
    expect(await memories.add(room, fact('the first'))).toMatchObject({ text: 'the first' });
    expect(await memories.remove(room, [row(5).id])).toBe(1);
    expect(await memories.add(room, fact('one more'))).toMatchObject({ text: 'one more' });
    expect(texts(await memories.find(room, '998', 5))).toEqual(['998']);
    expect(await memories.find(room, '5', 5)).not.toContainEqual(expect.objectContaining({ text: '5' }));
  });

  test('rooms share no entry of the search index, so that a search meets its own room only', async () => {
    const texts = ['Ana keeps goats', 'Ben keeps goats'];
    const rows = store.db
      .selectFrom('agent_memory')
      .select('words')
      .where('room_id', 'in', [await createRoom(...texts), await createRoom(...texts)]);
    const entries = (await rows.execute()).flatMap(({ words }: { words: string }) => words.split(' '));
    // Ana, Ben, and twice "keeps goats" in either room.
    expect(new Set(entries).size).toBe(2 * 4);
  });

  test('the longest text in the widest letters is kept and found', async () => {
    for (const letter of ['🌽', '漢', '\u{20000}', '\u{1d4ea}', 'ﷺ']) {
      const text = `${letter.repeat(memoryLimits.textCharacters - 5)} maïs`;
      const room = await createRoom(text);
      expect(texts(await memories.find(room, text.slice(0, 400), 5))).toEqual(letter === '🌽' ? [] : [text]);
      expect(texts(await memories.findAll(room, 'mais'))).toEqual([text]);
    }
  });
});

test.each([
  ["Ana's three GOATS, in Nyeri!", ['ana', 's', 'three', 'goats', 'in', 'nyeri']],
  ['Les chèvres — été 2025', ['les', 'chevres', 'ete', '2025']],
  ['हिन्दी भाषा', ['हिन्दी', 'भाषा']],
  ['山羊 goat', ['山羊', 'goat']],
  ['the the THE', ['the']],
  ['—!?', []],
])('the words of %j', (text, words) => {
  expect(toWords(text)).toEqual(words);
});

test.each([
  ['my goats', ['goat']],
  ['goat', ['goat']],
  ['I am', ['i', 'am']],
  ['chèvres', ['chevre']],
  ['  ', []],
])('%j is looked up by %j', (query, terms) => {
  expect(toSearchTerms(query)).toEqual(terms);
});
