import { createAgent, type OracleApp, type OracleAppOptions, type OraclePlugin, type Tools } from '@palaver/agent';
import { createAttachmentsPlugin } from './attachments/attachments.ts';
import { createCallsPlugin } from './calls/calls.ts';
import { createAgUiPlugin, createBrowserToolsPlugin } from './client-tools/client-tools.ts';
import { createCreditsPlugin } from './credits/credits.ts';
import { createDidDocumentPlugin } from './did-document/did-document.ts';
import { createA2aDoor } from './doors/a2a/a2a-door.ts';
import { createAguiDoor } from './doors/agui-door.ts';
import { createAiSdkDoor } from './doors/ai-sdk-door.ts';
import { createMcpDoor } from './doors/mcp-door.ts';
import { createOpenAiDoor } from './doors/openai/openai-door.ts';
import { createMcpPlugin } from './mcp/mcp.ts';
import { createMemoryPlugin } from './memory/memory.ts';
import { createModelsPlugin } from './models/models.ts';
import { createProtocolActionsPlugin } from './protocol-actions/protocol-actions.ts';
import { createProtocolQueryPlugin } from './protocol-query/protocol-query.ts';
import { createTasksPlugin } from './tasks/tasks.ts';
import { createTelemetryPlugin } from './telemetry/telemetry.ts';
import { createTracesPlugin } from './traces/traces.ts';
import { createUserPreferences } from './user-preferences/user-preferences.ts';
import { createWebhooksPlugin } from './webhooks/webhooks.ts';

/**
 * The bundled plugins; `features` switches each on or off.
 *
 * @example
 * ```ts
 * import { createAgent } from '@palaver/agent';
 * import { createBundledPlugins } from '@palaver/agent-plugins';
 *
 * const plugins = createBundledPlugins().filter(({ name }) => name !== 'memory');
 * await createAgent({ plugins });
 * ```
 */
export function createBundledPlugins(): OraclePlugin[] {
  return [
    // First, so that its spans contain what other plugins add to a call.
    createTelemetryPlugin(),
    createTracesPlugin(),
    createModelsPlugin(),
    createDidDocumentPlugin(),
    createUserPreferences(),
    createMemoryPlugin(),
    createCreditsPlugin(),
    createTasksPlugin(),
    createBrowserToolsPlugin(),
    createAgUiPlugin(),
    createMcpPlugin(),
    createAttachmentsPlugin(),
    createProtocolQueryPlugin(),
    createProtocolActionsPlugin(),
    createWebhooksPlugin(),
    createCallsPlugin(),
    // Which of them are open is in `DOORS`.
    createAguiDoor(),
    createAiSdkDoor(),
    createOpenAiDoor(),
    createA2aDoor(),
    createMcpDoor(),
  ];
}

/**
 * An agent with the bundled plugins and the author's, configured from `env` and ready to listen.
 *
 * @example
 * ```ts
 * import { createOracleApp } from '@palaver/agent-plugins';
 *
 * const app = await createOracleApp({ config: { name: 'Farm helper' }, env: process.env });
 * console.log(await app.listen());
 * ```
 */
export function createOracleApp<OwnTools extends Tools = Tools>(
  options: OracleAppOptions<OwnTools> = {},
): Promise<OracleApp<OwnTools>> {
  return createAgent({ ...options, plugins: [...createBundledPlugins(), ...(options.plugins ?? [])] });
}
