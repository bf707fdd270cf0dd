import { describe, expect, it } from 'vitest';
import { type Capability, coversAbility, coversCapability, hasCapability } from './capability.ts';

describe('abilities', () => {
  it.each([
    ['*', '*', true],
    ['*', 'oracle/chat', true],
    ['oracle/*', 'oracle/*', true],
    ['oracle/*', 'oracle/chat', true],
    ['oracle/*', 'oracle/chat/send', true],
    ['oracle/chat/*', 'oracle/chat/send', true],
    ['oracle/chat', 'oracle/chat', true],
    ['oracle/*', '*', false],
    ['oracle/chat', 'oracle/*', false],
    ['oracle/chat', 'oracle/chat/send', false],
    ['oracle/*', 'oracles/chat', false],
    ['oracle/chat/*', 'oracle/chat', false],
    ['oracle/*', 'memory/read', false],
  ])('%s against %s: %s', (granted, wanted, expected) => {
    expect(coversAbility(granted, wanted)).toBe(expected);
  });
});

describe('capabilities', () => {
  const resource = 'ixo:oracle';
  const granted: Capability = { can: 'memory/*', with: resource, nb: { room: 'a', tags: ['x', { deep: 1 }] } };

  it.each<[string, Capability, boolean]>([
    ['the same', granted, true],
    ['narrower', { ...granted, can: 'memory/read' }, true],
    ['with more conditions', { ...granted, nb: { ...granted.nb, limit: 3 } }, true],
    ['a condition in another order of keys', { ...granted, nb: { tags: ['x', { deep: 1 }], room: 'a' } }, true],
    ['another resource', { ...granted, with: 'ixo:oracle2' }, false],
    ['a resource under it', { ...granted, with: 'ixo:oracle/x' }, false],
    ['a wider ability', { ...granted, can: '*' }, false],
    ['a condition changed', { ...granted, nb: { ...granted.nb, room: 'b' } }, false],
    ['a condition changed deep inside', { ...granted, nb: { room: 'a', tags: ['x', { deep: 2 }] } }, false],
    ['a condition dropped', { ...granted, nb: { room: 'a' } }, false],
    ['no conditions', { can: 'memory/read', with: resource }, false],
    ['a condition inherited, not own', { ...granted, nb: Object.create(granted.nb ?? {}) }, false],
  ])('%s', (_, wanted, expected) => {
    expect(coversCapability(granted, wanted)).toBe(expected);
  });

  it('are granted by any of a token’s', () => {
    const token = { capabilities: [granted, { can: 'oracle/chat', with: resource }] };
    expect(hasCapability(token, { can: 'oracle/chat', with: resource })).toBe(true);
    expect(hasCapability(token, { can: 'oracle/*', with: resource })).toBe(false);
  });
});
