'use client';

import { createContext, type ReactNode, useContext, useState, useSyncExternalStore } from 'react';
import { reauthorizeComponentName, toAskedCapability } from '../core/approvals.ts';
import { toError } from '../core/oracle-error.ts';
import type { Approval, Arguments, CallStatus, GrantedCapability } from '../core/wire.ts';
import type { IComponentMetadata } from './message-content.ts';
import { type AnswerApproval, createShared, OraclesContext, type OraclesContextValue } from './oracles-context.ts';
import type { UIComponents } from './ui-components.ts';

export type Words = typeof englishWords;

export const englishWords = {
  mayRun: 'May {name} run?',
  mayAct: 'May the agent do this in your name?',
  approve: 'Approve',
  refuse: 'Refuse',
  authorise: 'Authorise',
  authorised: 'Authorised',
  approved: 'approved',
  refused: 'refused',
  expired: 'not answered in time',
};

export const WordsContext = createContext<Words>(englishWords);

interface ContentViewProps {
  content: IComponentMetadata;
  components?: UIComponents | undefined;
}

/** A call is drawn by its action, by a component of its name, by `ToolCall`, or as one quiet line; a component by its name. */
export function ContentView({ content: { name, props }, components }: ContentViewProps): ReactNode {
  const context = useContext(OraclesContext);
  const { actions, components: registered, executing } = context ?? outside;
  useStore(actions.subscribe, actions.version);
  useStore(registered.subscribe, registered.get);
  useStore(executing.subscribe, executing.get);
  const { id, args, status = 'done', output, error, isRefused, isToolCall, isAgAction, approval } = props;
  const isLoading = status === 'isRunning';
  const isCall = isToolCall || isAgAction;
  const action = isCall ? actions.find(name) : undefined;
  if (action?.render) {
    const isExecuting = isLoading && executing.get().has(id);
    return action.render({ status, isLoading, isExecuting, args, result: output, error });
  }
  const known = [components, ...registered.get().toReversed()];
  // `constructor` and the like are no components.
  const find = (other: string) => known.find((given) => given && Object.hasOwn(given, other))?.[other];
  const Component =
    find(name) ?? (isAgAction ? find('AgActionToolCall') : undefined) ?? (isCall ? find('ToolCall') : undefined);
  const answer = approval?.status === 'pending' ? context?.answers.get(id) : undefined;
  const asked = name === reauthorizeComponentName && !isCall ? toAskedCapability(args) : undefined;
  const authorize = asked && context ? () => grantIn(context, id, asked) : undefined;
  if (Component && approval) {
    return <Component {...{ id, name, args, status, toolName: props.toolName, approval, answer }} />;
  }
  if (Component) {
    const named = isCall ? { toolName: name, eventId: id, ...(isAgAction && { actionName: name }) } : toOwnProps(args);
    if (authorize) return <Component {...named} {...{ id, name, args, status, authorize }} />;
    return (
      <Component
        {...named}
        {...{ id, name, args, status, isLoading, output, error }}
        {...(isRefused && { isRefused })}
      />
    );
  }
  if (approval) return <ApprovalView approval={approval} answer={answer} />;
  if (asked && authorize) return <ReauthorizeView capability={asked} authorize={authorize} />;
  return name === 'Error' ? null : <Quiet name={name} status={isRefused ? 'refused' : status} />;
}

/** Pages without a component named `Approval` can answer too: the agent waits. */
function ApprovalView({ approval, answer }: { approval: Approval; answer: AnswerApproval | undefined }): ReactNode {
  const { args, status } = approval;
  const name = toShown(approval.toolName);
  const words = useContext(WordsContext);
  const [act, fault] = useAct();
  const capability = approval.capability ?? approval.invocation?.capability;
  return (
    <fieldset data-oracle-approval={status}>
      <legend>{status === 'pending' ? words.mayRun.replace('{name}', () => name) : `${name}: ${words[status]}`}</legend>
      <ShownFields fields={args} />
      {capability && <ShownFields fields={{ ...capability }} />}
      {answer && (
        <p>
          <button type="button" onClick={() => act(() => answer(true))}>
            {words.approve}
          </button>
          <button type="button" onClick={() => act(() => answer(false))}>
            {words.refuse}
          </button>
        </p>
      )}
      {fault && <p role="alert">{fault}</p>}
    </fieldset>
  );
}

/** Pages without a component named `ReauthorizePrompt` can authorise too; nothing is signed before the user has seen what. */
function ReauthorizeView({ capability, authorize }: { capability: GrantedCapability; authorize: () => Promise<void> }) {
  const words = useContext(WordsContext);
  const [act, fault, isDone] = useAct();
  return (
    <fieldset data-oracle-reauthorize={capability.can}>
      <legend>{isDone ? words.authorised : words.mayAct}</legend>
      <ShownFields fields={{ ...capability }} />
      {!isDone && (
        <p>
          <button type="button" onClick={() => act(authorize)}>
            {words.authorise}
          </button>
        </p>
      )}
      {fault && <p role="alert">{fault}</p>}
    </fieldset>
  );
}

function ShownFields({ fields }: { fields: Arguments }): ReactNode {
  const toText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
  return (
    <table>
      <tbody>
        {Object.entries(fields).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{toShown(name)}</th>
            <td>{toShown(toText(value) ?? '')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Text in which no character reverses or hides another: it is what the user agrees to. */
function toShown(text: string): string {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(/[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu, (character) => character.split('').map(toEscape).join(''));
}

function useAct(): [(work: () => Promise<unknown>) => void, string | undefined, boolean] {
  const [state, setState] = useState<{ fault?: string; isDone: boolean }>({ isDone: false });
  const act = (work: () => Promise<unknown>) =>
    void work().then(
      () => setState({ isDone: true }),
      (error) => setState({ fault: toError(error).message, isDone: false }),
    );
  return [act, state.fault, state.isDone];
}

async function grantIn({ chats }: OraclesContextValue, eventId: string, capability: GrantedCapability): Promise<void> {
  const chat = [...chats].find((shown) =>
    shown.get().messages.some(({ components }) => components?.some((component) => component.eventId === eventId)),
  );
  if (!chat) throw new Error('The chat that asks is not open.');
  await chat.grant(capability);
}

/** Names by which React or a browser would run or replace something if a component passes its props on to an element. */
const unsafeName = /^(children|key|ref|is|style|srcdoc|dangerouslysetinnerhtml|on.*|__proto__)$/i;

function toOwnProps(args: Arguments): Arguments {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !unsafeName.test(name)));
}

/** An unknown component is shown small, not as an error: agents may have more components than a page. */
function Quiet({ name, status }: { name: string; status: CallStatus | 'refused' }): ReactNode {
  return (
    <small data-oracle-call={name} data-status={status}>
      {name}
      {{ isRunning: ' …', error: ' ✕', refused: ' –', done: ' ✓' }[status]}
    </small>
  );
}

/** What is drawn without an `OraclesProvider` around it has nothing but what it is given. */
const outside = createShared();

function useStore(subscribe: (listener: () => void) => () => void, get: () => unknown): void {
  useSyncExternalStore(subscribe, get, get);
}
