import { defineOraclePlugin, type OraclePlugin, type RuntimeContext, type Tool, type Tools } from '@palaver/agent';
import type { BrowserTool } from '@palaver/contract';
import type { AgAction } from '@palaver/contract/internal';
import { toManifest } from '../plugin-parts.ts';

export function createBrowserToolsPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'browser-tools',
    version: '1.0.0',
    manifest: toManifest('Browser tools', "Runs tools on the user's page."),
    getRequestTools: (rt) => toTools(rt.message.tools ?? [], (tool) => createClientTool(tool, 'browser_tool_call')),
  });
}

export function createAgUiPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'ag-ui',
    version: '1.0.0',
    manifest: toManifest('AG-UI actions', "Runs actions on the user's page."),
    getRequestTools: (rt) => toTools(rt.message.agActions ?? [], (action) => createClientTool(action, 'action_call')),
  });
}

function toTools<D extends { name: string }>(declared: D[], create: (declaration: D) => Tool): Tools {
  return Object.fromEntries(declared.map((declaration) => [declaration.name, create(declaration)]));
}

function createClientTool(
  { name, description, schema }: BrowserTool | AgAction,
  event: 'browser_tool_call' | 'action_call',
): Tool {
  return {
    description,
    inputSchema: schema,
    event: 'none',
    // The round trip has a limit of its own, which says what happened.
    timeoutMs: 24 * 3_600_000,
    async execute(args: Record<string, unknown>, rt: RuntimeContext) {
      const emit = event === 'action_call' ? rt.emit.actionCall : rt.emit.browserToolCall;
      const call = { toolCallId: rt.toolCallId ?? '', toolName: name, args };
      emit({ ...call, status: 'isRunning' });
      try {
        const output = await rt.callBrowser(event, call);
        emit({ ...call, status: 'done', output });
        return output;
      } catch (error) {
        emit({ ...call, status: 'error', error: error instanceof Error ? error.message : String(error) });
        throw error;
      }
    },
  };
}
