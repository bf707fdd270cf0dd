import type { OraclePlugin } from '../plugins/plugin.ts';
import { createOpenAiDoor } from './openai/openai-door.ts';

/** The doors of standard protocols; `DOORS` says which are open. */
export function createStandardDoors(): OraclePlugin[] {
  return [createOpenAiDoor()];
}
