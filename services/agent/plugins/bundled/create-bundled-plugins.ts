import type { OraclePlugin } from '../plugin.ts';
import { createCreditsPlugin } from './credits.ts';
import { createDidDocumentPlugin } from './did-document.ts';
import { createMemoryPlugin } from './memory.ts';
import { createModelsPlugin } from './models.ts';
import { createAgUiPlugin, createBrowserToolsPlugin } from './page-tools.ts';
import { createTasksPlugin } from './tasks.ts';
import { createUserPreferences } from './user-preferences.ts';

/** The plugins every agent comes with; each can be switched by `features`. */
export function createBundledPlugins(): OraclePlugin[] {
  return [
    createModelsPlugin(),
    createDidDocumentPlugin(),
    createUserPreferences(),
    createMemoryPlugin(),
    createCreditsPlugin(),
    createTasksPlugin(),
    createBrowserToolsPlugin(),
    createAgUiPlugin(),
  ];
}
