import { afterEach, describe, expect, it } from 'vitest';
import { type Transition, type TransitionName, transitions } from '../../src/runs/transitions.ts';
import { smallConfigurations } from './configurations.ts';
import { explore } from './explore.ts';
import { createRunModel } from './run-model.ts';

const table = transitions as Record<TransitionName, Transition>;
const original = structuredClone(table);

afterEach(() => void Object.assign(table, structuredClone(original)));

describe('the model of runs', () => {
  it('has no state that breaks an invariant, and every run ends', () => {
    const taken = new Set<string>();
    for (const limits of smallConfigurations) {
      const explored = explore(createRunModel(limits));
      expect(explored.violation, JSON.stringify(limits)).toBeUndefined();
      for (const label of explored.taken.keys()) taken.add(label);
    }
    // A replacement is part of a begin; frames change no state of a run.
    expect(Object.keys(transitions).filter((name) => !taken.has(name))).toEqual(['frames', 'replace']);
  });

  const withoutGuard = (name: TransitionName, guard: string): [string, () => void, RegExp] => [
    `${name} without ${guard}`,
    () => {
      table[name].if = table[name].if?.filter((condition) => condition !== guard) ?? [];
    },
    /./,
  ];
  const byAnyone = (name: TransitionName): [string, () => void, RegExp] => [
    `${name} by whoever was the owner`,
    () => {
      table[name].by = 'user';
    },
    /by an owner that was replaced/,
  ];
  const notFrom = (name: TransitionName, status: string): [string, () => void, RegExp] => [
    `${name} not from ${status}`,
    () => {
      table[name].from = table[name].from.filter((from) => from !== status);
    },
    /^work /,
  ];
  const withoutChange = (name: TransitionName, change: string, found: RegExp): [string, () => void, RegExp] => [
    `${name} that does not set ${change}`,
    () => {
      table[name].set = table[name].set?.filter((set) => set !== change) ?? [];
    },
    found,
  ];

  const faults: [fault: string, make: () => void, found: RegExp][] = [
    withoutGuard('start', 'not-aborting'),
    withoutGuard('start', 'first-of-session'),
    withoutGuard('step', 'not-aborting'),
    withoutGuard('ask', 'not-aborting'),
    withoutGuard('resume', 'not-aborting'),
    withoutGuard('claim', 'owner-dead'),
    ...(['start', 'step', 'outcomes', 'ask', 'resume', 'complete', 'fail', 'stop', 'release'] as const).map(byAnyone),
    notFrom('start', 'queued'),
    notFrom('start', 'running'),
    notFrom('resume', 'waiting'),
    notFrom('resume', 'running'),
    notFrom('stop', 'queued'),
    notFrom('stop', 'running'),
    notFrom('stop', 'waiting'),
    notFrom('claim', 'queued'),
    notFrom('claim', 'running'),
    notFrom('claim', 'waiting'),
    notFrom('release', 'running'),
    withoutChange('abort', 'aborting', /after a confirmed abort/),
    withoutChange('replace', 'aborting', /after a confirmed abort/),
    withoutChange('claim', 'take', /two owners/),
    withoutChange('release', 'give-up', /^work /),
  ];

  it.each(faults)('finds %s', (_, make, found) => {
    make();
    const violations = smallConfigurations.map((limits) => () => explore(createRunModel(limits)).violation?.what);
    const first = violations.reduce<string | undefined>((before, find) => before ?? find(), undefined);
    expect(first).toMatch(found);
  });
});
