import type { SseEventData } from '@palaver/contract';
import { printable, toPrintableJson } from '@palaver/service-kit/internal';

export interface ApprovalQuestions {
  /** Shows a question and gives the line that is typed; undefined if the input has ended or `signal` fires. */
  readLine(question: string, signal: AbortSignal): Promise<string | undefined>;
  answer(approvalId: string, approved: boolean): Promise<unknown>;
  onError(error: unknown): void;
}

/** Asks about tools that need approval, one after the other, while the events of the run are read on. */
export function createApprovalPrompt({ readLine, answer, onError }: ApprovalQuestions) {
  const open = new Map<string, AbortController>();
  let asking: Promise<void> = Promise.resolve();

  async function ask(request: SseEventData['approval_request'], signal: AbortSignal): Promise<void> {
    const question = toQuestion(request);
    while (!signal.aborted) {
      const line = await readLine(question, signal);
      if (signal.aborted) return;
      // Input that has ended approves nothing.
      const typed = line?.trim() ?? 'n';
      if (!/^(y|yes|n|no)$/i.test(typed)) continue;
      try {
        await answer(request.approvalId, /^y/i.test(typed));
        return;
      } catch (error) {
        onError(error);
        if (line === undefined) return;
      }
    }
  }

  return {
    /** A tool waits, or was answered, here or in another client. */
    onRequest(request: SseEventData['approval_request']): void {
      open.get(request.approvalId)?.abort();
      if (request.status !== 'pending') return;
      const controller = new AbortController();
      open.set(request.approvalId, controller);
      asking = asking.then(() => ask(request, controller.signal)).catch(onError);
    },
    /** The run has ended. */
    close(): void {
      for (const controller of open.values()) controller.abort();
    },
  };
}

function toQuestion({ toolName, args, capability, invocation }: SseEventData['approval_request']): string {
  const call = printable`${toolName} ${toPrintableJson(args)}`;
  if (invocation) {
    const { audience, capability: asked } = invocation;
    return printable`${call} needs an invocation of ${toPrintableJson(asked)} for ${audience}. Sign it? (y/n) `;
  }
  if (!capability) return `${call} needs your approval. Run it? (y/n) `;
  return `${call} needs a delegation of ${toPrintableJson(capability)}. Sign it? (y/n) `;
}
