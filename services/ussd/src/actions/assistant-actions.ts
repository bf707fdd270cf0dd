import type { Assistant, Questions } from '../outgoing/assistant.ts';
import type { Accounts } from '../people/accounts.ts';
import type { QuestionTable } from '../store/tables.ts';
import type { ActionContext, RunOf } from './action.ts';
import type { DefaultAction } from './default-signatures.ts';

export interface AssistantActionParts {
  assistant: Assistant | undefined;
  questions: Questions;
  accounts: Pick<Accounts, 'find'>;
}

/** How long to wait for the agent's answer; a process that died gives none. */
const givenUpAfterMs = 150_000;

export function createAssistantActions({ assistant, questions, accounts }: AssistantActionParts) {
  /** The bundled menus ask account holders for their PIN; this check is for menus that do not. */
  const mayAsk = async ({ account, phoneNumber }: ActionContext) =>
    assistant !== undefined && (account !== undefined || !(await accounts.find(phoneNumber)));
  return {
    async openAssistant(context) {
      const { phoneNumber } = context;
      if (!(await mayAsk(context))) return { outcome: 'unavailable' };
      const open = await questions.findOpen(phoneNumber);
      return { outcome: open && open.status !== 'failed' ? 'waiting' : 'ready' };
    },
    async askAssistant(context) {
      if (!assistant || !(await mayAsk(context))) return { outcome: 'unavailable' };
      const { key: id, phoneNumber: phone } = context;
      const question = { id, phone, text: context.answer('question'), language: context.language };
      // Kept before anything is sent, so that a retry of this step finds the question instead of sending it again.
      const isNew = await questions.insertOnce({ ...question, now: context.now });
      if (isNew) assistant.start(question, context.log);
      await assistant.wait(question.id);
      return show(context, questions, await questions.find(question.id));
    },
    async showAnswer(context) {
      if (!(await mayAsk(context))) return { outcome: 'unavailable' };
      const open = await questions.findOpen(context.phoneNumber);
      if (open?.status === 'pending') {
        const isOld = context.now - open.asked_at > givenUpAfterMs;
        await assistant?.wait(open.id);
        await assistant?.recover({ id: open.id, phone: context.phoneNumber, isOld }, context.log);
      }
      return show(context, questions, open && (await questions.find(open.id)));
    },
  } satisfies Partial<RunOf<DefaultAction>>;
}

async function show(context: ActionContext, questions: Questions, question: QuestionTable | undefined) {
  if (!question || question.status === 'failed') return { outcome: 'unavailable' };
  if (question.status === 'pending') return { outcome: 'waiting' };
  return context.commit(async (trx) => {
    await questions.markShown(trx, question.id);
    return { outcome: 'answered', values: { answer: question.answer ?? '' } };
  });
}
