import type { Assistant } from '../assistant/assistant.ts';
import type { Questions } from '../assistant/questions.ts';
import type { ActionResult } from '../menu/engine.ts';
import type { QuestionTable } from '../store/tables.ts';
import type { ActionContext, RunOf } from './action.ts';

export interface AssistantActionParts {
  /** Absent when no agent service is configured. */
  assistant: Assistant | undefined;
  questions: Questions;
}

/** A question nobody answered in this time (its process died) is given up. */
const givenUpAfterMs = 150_000;

export function createAssistantActions({
  assistant,
  questions,
}: AssistantActionParts): RunOf<'openAssistant' | 'askAssistant' | 'showAnswer'> {
  return {
    async openAssistant({ phoneNumber, now }) {
      if (!assistant) return { outcome: 'unavailable' };
      const open = await questions.findOpen(phoneNumber);
      return { outcome: open && !isGivenUp(open, now) && open.status !== 'failed' ? 'waiting' : 'ready' };
    },
    async askAssistant(context) {
      if (!assistant) return { outcome: 'unavailable' };
      const question = { id: context.key, phone: context.phoneNumber, text: context.answer('question') };
      // Kept before anything is sent, so that a retry of this step finds the question instead of sending it again.
      const isNew = await questions.insertOnce({ ...question, now: context.now });
      if (isNew) assistant.start(question, context.log);
      await assistant.wait(question.id);
      return show(context, questions, await questions.find(question.id));
    },
    async showAnswer(context) {
      const open = await questions.findOpen(context.phoneNumber);
      if (open?.status === 'pending') await assistant?.wait(open.id);
      return show(context, questions, open && (await questions.find(open.id)));
    },
  };
}

async function show(
  context: ActionContext,
  questions: Questions,
  question: QuestionTable | undefined,
): Promise<ActionResult> {
  if (!question || question.status === 'failed' || isGivenUp(question, context.now)) return { outcome: 'unavailable' };
  if (question.status === 'pending') return { outcome: 'waiting' };
  return context.commit(async (trx) => {
    await questions.markShown(trx, question.id);
    return { outcome: 'answered', values: { answer: question.answer ?? '' } };
  });
}

function isGivenUp({ status, asked_at }: QuestionTable, now: number): boolean {
  return status === 'pending' && now - asked_at > givenUpAfterMs;
}
