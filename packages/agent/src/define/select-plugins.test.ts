import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { type SelectOptions, selectPlugins } from './select-plugins.ts';

const plugin = createTestPlugin;

function select(options: Partial<SelectOptions>) {
  return selectPlugins({ plugins: [], features: {}, manifestOverrides: {}, env: {}, ...options });
}

describe('faults name the plugin and the remedy', () => {
  const variable = z.string().meta({ description: 'A key.', example: 'k-123' });
  const faults: [string, Partial<SelectOptions>, string][] = [
    [
      'a name that is not kebab-case',
      { plugins: [plugin({ name: 'MyPlugin' })] },
      'plugin "MyPlugin": its name must be kebab-case, such as my-plugin',
    ],
    [
      'a plugin given twice',
      { plugins: [plugin({ name: 'a' }), plugin({ name: 'a' })] },
      'plugin a: it is given twice; remove one',
    ],
    [
      'a feature of no plugin',
      { features: { 'use-preferences': true } },
      'features: there is no plugin use-preferences; check the name',
    ],
    [
      'an override of no plugin',
      { manifestOverrides: { b: { title: 'B' } } },
      'manifestOverrides: there is no plugin b; check the name',
    ],
    [
      'a missing variable',
      { plugins: [plugin({ name: 'a', configSchema: z.object({ A_KEY: variable }) })] },
      'plugin a: A_KEY is not set: Invalid input: expected string, received undefined (for example A_KEY=k-123)',
    ],
    [
      'a missing variable its author said nothing of',
      { plugins: [plugin({ name: 'a', configSchema: z.object({ A_KEY: z.string('needed') }) })] },
      'plugin a: A_KEY is not set: needed',
    ],
    [
      'a variable of the wrong kind',
      {
        plugins: [
          plugin({
            name: 'a',
            configSchema: z.object({
              A_URL: z.url('expected a URL').meta({ description: 'An address.', example: 'http://a' }),
            }),
          }),
        ],
        env: { A_URL: 'nowhere' },
      },
      'plugin a: A_URL="nowhere": expected a URL (for example A_URL=http://a)',
    ],
    [
      'a dependency that is nowhere',
      { plugins: [plugin({ name: 'a', dependsOn: ['b'] })] },
      'plugin a: it depends on b, which is not loaded; add it to plugins',
    ],
    [
      'a dependency that is switched off',
      { plugins: [plugin({ name: 'a', dependsOn: ['b'] }), plugin({ name: 'b' })], features: { b: false } },
      'plugin a: it depends on b, which is not loaded; switch it on (features: { "b": true })',
    ],
    [
      'a circle',
      {
        plugins: [
          plugin({ name: 'a', dependsOn: ['b'] }),
          plugin({ name: 'b', dependsOn: ['c'] }),
          plugin({ name: 'c', dependsOn: ['a'] }),
        ],
      },
      'plugins a → b → c → a depend on each other; break the circle',
    ],
    [
      'an empty summary',
      { plugins: [plugin({ name: 'a', manifest: { summary: ' ' } })] },
      'plugin a: manifest.summary is empty; say in a sentence what it does',
    ],
    [
      'no case of use though the model reads about it',
      { plugins: [plugin({ name: 'a', manifest: { whenToUse: [], visibility: 'always' } })] },
      'plugin a: manifest.whenToUse is empty; give at least one case, or make it silent',
    ],
    [
      'a tag with capitals',
      { plugins: [plugin({ name: 'a', manifest: { tags: ['ok', 'Not'] } })] },
      'plugin a: the tag "Not" must be lowercase',
    ],
    [
      'an override that breaks a rule',
      { plugins: [plugin({ name: 'a' })], manifestOverrides: { a: { summary: '' } } },
      'plugin a: manifest.summary is empty; say in a sentence what it does',
    ],
  ];

  test.each(faults)('%s', (_what, options, fault) => {
    expect(select(options).faults).toEqual([fault]);
  });

  test('all of them at once', () => {
    const all = select({
      plugins: [plugin({ name: 'a', dependsOn: ['x'], manifest: { tags: ['T'] } }), plugin({ name: 'B' })],
      features: { nobody: true },
    });
    expect(all.faults).toHaveLength(4);
  });

  test('a plugin that is not loaded has no faults', () => {
    const broken = plugin({ name: 'a', dependsOn: ['b'], manifest: { summary: '' } });
    expect(select({ plugins: [broken], features: { a: false } }).faults).toEqual([]);
  });
});

describe('which plugins are loaded', () => {
  const asks = plugin({ name: 'asks', autoDetect: (env) => env.ASK === '1', autoDetectHint: 'set ASK=1' });
  const plain = plugin({ name: 'plain' });
  const cases: [string, Partial<SelectOptions>, Record<string, string | false>][] = [
    ['nothing said', {}, { asks: false, plain: 'on by default' }],
    ['its configuration is there', { env: { ASK: '1' } }, { asks: 'found its configuration', plain: 'on by default' }],
    ['switched off', { env: { ASK: '1' }, features: { asks: false, plain: false } }, { asks: false, plain: false }],
    ['forced', { features: { asks: true } }, { asks: 'switched on by features', plain: 'on by default' }],
    [
      'auto is as if nothing was said',
      { features: { asks: 'auto', plain: 'auto' } },
      { asks: false, plain: 'on by default' },
    ],
  ];

  test.each(cases)('%s', (_what, options, expected) => {
    const { selected, status, faults } = select({ plugins: [asks, plain], ...options });
    expect(faults).toEqual([]);
    expect(Object.fromEntries(status.map(({ name, loaded, reason }) => [name, loaded && reason]))).toEqual(expected);
    expect(selected.map(({ plugin: { name } }) => name)).toEqual(
      Object.keys(expected).filter((name) => expected[name]),
    );
  });

  test('one that was not found says what to set', () => {
    expect(select({ plugins: [asks] }).status).toEqual([
      { name: 'asks', version: '1.0.0', loaded: false, reason: 'set ASK=1' },
    ]);
  });
});

test('manifestOverrides change single fields and leave the plugin as it is', () => {
  const given = plugin({ name: 'a', manifest: { title: 'A' } });
  const [entry] = select({ plugins: [given], manifestOverrides: { a: { visibility: 'on-demand' } } }).selected;
  expect(entry?.manifest).toMatchObject({ title: 'A', visibility: 'on-demand' });
  expect(given.manifest.visibility).toBe('silent');
});

test('a soft dependency orders where it is there, and is no matter where it is not or goes round', () => {
  const a = plugin({ name: 'a', softDependsOn: ['b', 'nobody'] });
  const b = plugin({ name: 'b', softDependsOn: ['a'] });
  const { selected, faults } = select({ plugins: [a, b] });
  expect(faults).toEqual([]);
  expect(selected.map(({ plugin: { name } }) => name)).toEqual(['b', 'a']);
});

test('whatever order plugins are given in, each comes after those it depends on', () => {
  const graph = fc.array(fc.array(fc.nat({ max: 30 }), { maxLength: 4 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(graph, fc.infiniteStream(fc.nat()), (edges, keys) => {
      const plugins = edges.map((targets, index) =>
        // Only backwards, so that there is no circle.
        plugin({ name: `p${index}`, dependsOn: index === 0 ? [] : targets.map((target) => `p${target % index}`) }),
      );
      const order = plugins.map((entry) => ({ entry, key: keys.next().value ?? 0 }));
      const shuffled = order.sort((a, b) => a.key - b.key).map(({ entry }) => entry);
      const { selected, faults } = select({ plugins: shuffled });
      expect(faults).toEqual([]);
      const place = new Map(selected.map(({ plugin: { name } }, index) => [name, index]));
      expect(place.size).toBe(plugins.length);
      for (const { name, dependsOn = [] } of plugins)
        for (const needed of dependsOn) expect(place.get(needed)).toBeLessThan(place.get(name) ?? -1);
    }),
  );
});
