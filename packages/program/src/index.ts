export { type Playground, type PlaygroundOptions, playProgram } from './playground.ts';
export type { ActionResult } from './run/engine.ts';
export { formatFault } from './values/fault.ts';
export { type Surface, ussd } from './values/surface.ts';
