import type { Logger } from '@palaver/service-kit';
import type { AgentClient } from './agent-client.ts';
import { toPlainText } from './plain-text.ts';
import type { Questions } from './questions.ts';

export interface Question {
  id: string;
  phone: string;
  text: string;
  language: string;
}

/** Beyond this many at once a question is refused rather than queued: its user would have hung up. */
const maxRunning = 200;

/** Asks the agent in the background and keeps the answer. */
export function createAssistant(agent: AgentClient, questions: Questions, waitMs: number) {
  const running = new Map<string, Promise<void>>();

  async function answer({ id, text, phone, language }: Question, log: Logger): Promise<void> {
    try {
      const session = await questions.findChat(phone);
      const onChat = (chat: string) => questions.setChat(id, chat);
      const result = await agent.ask({ id, phone, text, language, session, onChat });
      if (!result.ok) log.warn({ reason: result.reason }, 'the agent service gave no answer');
      if (!result.ok && result.late) return;
      await questions.settle(id, result.ok ? toPlainText(result.text) : undefined);
    } catch (error) {
      log.error({ err: error }, 'an answer of the agent service could not be kept');
    }
  }

  return {
    start(question: Question, log: Logger) {
      if (running.has(question.id)) return;
      const task = running.size >= maxRunning ? questions.settle(question.id, undefined) : answer(question, log);
      running.set(
        question.id,
        task.finally(() => running.delete(question.id)),
      );
    },
    /** Waits until the question is settled, at most `waitMs`. Questions of other instances are simply not waited for. */
    async wait(id: string) {
      const task = running.get(id);
      if (!task) return;
      const timer = Promise.withResolvers<void>();
      const timeout = setTimeout(timer.resolve, waitMs);
      await Promise.race([task, timer.promise]).finally(() => clearTimeout(timeout));
    },
    /** Asks the agent for the answer to a question that no task of this process waits for, and keeps it. */
    async recover({ id, isOld, phone }: Pick<Question, 'id' | 'phone'> & { isOld: boolean }, log: Logger) {
      if (running.has(id)) return;
      const session = await questions.findChat(phone);
      const text =
        session &&
        (await agent.findAnswer({ id, phone, session }).catch((error: unknown) => {
          log.warn({ err: error }, 'the agent service could not be asked for an earlier answer');
          return undefined;
        }));
      if (text !== undefined) await questions.settle(id, toPlainText(text));
      else if (isOld) await questions.settle(id, undefined);
    },
    // Answers under way are not waited for: a model may take minutes. They are fetched when they are asked for.
    async close() {
      await Promise.race([
        Promise.allSettled(running.values()),
        new Promise((resolve) => setTimeout(resolve, 2_000).unref()),
      ]);
    },
  };
}

export type Assistant = ReturnType<typeof createAssistant>;
