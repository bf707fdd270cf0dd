import type { OraclePlugin } from '../plugins/plugin.ts';
import { createAguiDoor } from './agui/agui-door.ts';
import { createAiSdkDoor } from './ai-sdk/ai-sdk-door.ts';
import { createOpenAiDoor } from './openai/openai-door.ts';

/** The doors of standard protocols; `DOORS` says which are open. */
export function createStandardDoors(): OraclePlugin[] {
  return [createAguiDoor(), createAiSdkDoor(), createOpenAiDoor()];
}
