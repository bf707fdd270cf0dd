import type { Limits } from './run-model.ts';

/** Together they take every transition in seconds, and find every fault of `run-model.test.ts`. */
export const smallConfigurations: Limits[] = [
  { instances: 2, scripts: ['repeatable tool'], crashes: 1, pauses: 1 },
  { instances: 2, scripts: ['talk', 'talk'], replaces: true, faults: 1 },
  { instances: 2, scripts: ['tool', 'talk'], crashes: 1, aborts: 1 },
  { instances: 2, scripts: ['approved tool'], handovers: 1, pauses: 1 },
  { instances: 2, scripts: ['approved tool'], crashes: 1, aborts: 1, faults: 1 },
  { instances: 2, scripts: ['tool'], pauses: 1, aborts: 1, faults: 1 },
  { instances: 2, scripts: ['talk', 'talk'], handovers: 1, pauses: 1 },
  { instances: 2, scripts: ['talk'], handovers: 1, pauses: 1, faults: 1 },
  { instances: 2, scripts: ['talk', 'talk'], handovers: 1, faults: 1 },
];

export const largeConfigurations: Limits[] = [
  { instances: 3, scripts: ['approved tool', 'tool'], crashes: 2, aborts: 1, faults: 1 },
  { instances: 3, scripts: ['approved tool', 'tool'], crashes: 2, aborts: 1, pauses: 1 },
  { instances: 3, scripts: ['approved tool', 'talk'], crashes: 1, faults: 2 },
  { instances: 3, scripts: ['tool', 'approved tool'], replaces: true, crashes: 1, faults: 1, pauses: 1 },
  { instances: 3, scripts: ['approved tool'], crashes: 2, aborts: 1, pauses: 2, faults: 2, handovers: 1 },
  { instances: 2, scripts: ['approved tool', 'tool', 'talk'], crashes: 1, aborts: 1, faults: 1 },
];
