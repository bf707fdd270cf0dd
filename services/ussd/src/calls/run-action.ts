import {
  type ActionResult,
  type ActionState,
  createSay,
  type Dialogue,
  findAnswer,
  type Menu,
  nameOf,
  type Reveal,
  type Step,
} from '@palaver/program/internal';
import type { Action, ActionContext, Actions } from '../actions/action.ts';
import type { RunBuiltIn } from '../actions/perform-keywords.ts';
import type { Submissions } from '../outgoing/submissions.ts';
import type { ActionResults } from './action-results.ts';

export interface ActionCall extends Pick<ActionContext, 'key' | 'phoneNumber' | 'now' | 'log'> {
  sessionId: string;
  /** This key is new: no earlier run needs to be looked for. */
  isFirst: boolean;
  pending: NonNullable<Step['pending']>;
  menu: Menu;
  dialogue: Dialogue;
  reveal: Reveal;
}

export type RunAction = (call: ActionCall) => Promise<ActionResult>;

export interface RunActionParts {
  actions: Actions;
  runBuiltIn: RunBuiltIn;
  results: ActionResults;
  submissions: Pick<Submissions, 'insert'>;
  metrics: { countActionFailure(action: string): void };
}

/** Runs an action at most once for a key; its result is recorded even if it wrote nothing. */
export function createRunAction({ actions, runBuiltIn, results, submissions, metrics }: RunActionParts): RunAction {
  const run: RunAction = async (call) => {
    const { sessionId, key, isFirst, pending, menu, dialogue, phoneNumber, reveal, now, log } = call;
    const own = { key, sessionId, phone: phoneNumber };
    const { submission } = pending;
    if (submission)
      return results.commit(own, async (trx) => {
        await submissions.insert(trx, { ...submission, program: nameOf(menu.id), phone: phoneNumber, now });
        return { outcome: 'submitted', values: submission.values };
      });
    const state = menu.states.get(pending.state);
    const builtIn = state?.kind === 'action' && state.spec ? state : undefined;
    const action = actions[pending.action];
    if (!action && !builtIn) throw new Error(`no action named ${pending.action}`);
    const isRepeatable = builtIn ? !postsElsewhere(builtIn) : action?.repeatable;
    const recorded = isFirst && isRepeatable ? undefined : await results.find(own);
    if (recorded) return recorded;
    let committed: Promise<ActionResult> | undefined;
    const context: ActionContext = {
      key,
      phoneNumber,
      language: dialogue.language,
      account: dialogue.account,
      now,
      log,
      findAnswer: (name) => findAnswer(menu, dialogue, name, reveal),
      answer(name) {
        const value = context.findAnswer(name);
        if (value === undefined) throw new Error(`action ${pending.action} needs the answer ${name}`);
        return value;
      },
      say: createSay(menu, dialogue),
      commit(act) {
        committed = results.commit(own, act);
        return committed;
      },
    };
    const result = await (builtIn ? runBuiltIn(builtIn, { menu, dialogue, context }) : (action as Action).run(context));
    return committed ?? results.record(own, result);
  };
  return (call) =>
    run(call).catch((error: unknown) => {
      metrics.countActionFailure(call.pending.action);
      throw error;
    });
}

/** A `post` may have paid something, and an earlier process may have recorded its result before it ended. */
function postsElsewhere({ spec }: ActionState): boolean {
  if (spec === undefined) return false;
  return 'assistant' in spec || ('http' in spec && spec.http.post !== undefined);
}
