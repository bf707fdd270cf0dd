import { createBank } from '../../packages/agent/test/bank-plugin.ts';
import { type LiveAgent, startLiveAgent } from './live-agent.ts';

interface SentMessage {
  messageId?: string;
  taskId?: string;
  parts?: { text?: string }[];
}

/**
 * The agent of the A2A kit: the id of a message says what the agent under test does with it. Here it becomes the words by
 * which the offline model does that.
 */
export function startTckAgent(paidFile: string): Promise<LiveAgent> {
  return startLiveAgent({
    plugins: [createBank(paidFile)],
    async rewrite(body, call) {
      const sent = parse(body);
      const message: SentMessage | undefined = sent?.params?.message;
      const [part] = message?.parts ?? [];
      if (!message || part?.text === undefined) return body;
      const { messageId = '', taskId } = message;
      if (messageId.startsWith('tck-input-required') && !taskId) part.text = '/tool pay {"to":"ben","amount":50}';
      if (messageId.startsWith('test-resubscribe')) part.text = '/long 200';
      if (taskId && !messageId.startsWith('tck-input-required')) {
        const reply = await call('/a2a', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: taskId } });
        const [, approvalId] = /approve (\S+) or/.exec(await reply.text()) ?? [];
        if (approvalId) part.text = `approve ${approvalId}`;
      }
      return JSON.stringify(sent);
    },
  });
}

// biome-ignore lint/suspicious/noExplicitAny: the kit sends what it likes.
function parse(body: string): any {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
