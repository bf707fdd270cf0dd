import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { ToolError } from '@palaver/agent';

/** What the model reads of a result: data where there is some, otherwise the texts; the rest by name. */
export function toToolOutput({ content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.map(describe);
  if (isError) throw new ToolError('TOOL_FAILED', texts.join('\n').slice(0, 4_000) || 'the tool gave no reason');
  return structuredContent ?? texts.join('\n');
}

function describe(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[file ${part.resource.uri}]`;
    case 'resource_link':
      return `[link ${part.name}: ${part.uri}]`;
    default:
      return `[${part.type} ${part.mimeType}]`;
  }
}
