import type { OraclePlugin } from '../define/plugin.ts';
import { createA2aDoor } from './a2a/a2a-door.ts';
import { createAguiDoor } from './agui-door.ts';
import { createAiSdkDoor } from './ai-sdk-door.ts';
import { createMcpDoor } from './mcp-door.ts';
import { createOpenAiDoor } from './openai/openai-door.ts';

/** The doors of standard protocols; `DOORS` says which are open. */
export function createStandardDoors(): OraclePlugin[] {
  return [createAguiDoor(), createAiSdkDoor(), createOpenAiDoor(), createA2aDoor(), createMcpDoor()];
}
