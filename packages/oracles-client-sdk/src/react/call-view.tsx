'use client';

import { type ReactNode, useContext, useSyncExternalStore } from 'react';
import type { Store } from '../core/store.ts';
import type { CallStatus, MessageComponent, ToolCall } from '../core/wire.ts';
import type { ActionStatus } from './action-registry.ts';
import { OraclesContext, type OraclesContextValue, type UIComponents } from './oracles-context.ts';

/** A call of a tool or action: drawn by the action itself, by a component of its name, or as one quiet line. */
export function CallView({ call, components }: { call: ToolCall; components?: UIComponents | undefined }): ReactNode {
  const context = useContext(OraclesContext);
  useRegistered(context);
  const { id, name, args, status, output, error } = call;
  const action = context?.actions.find(name);
  if (action?.render) {
    const shown = toActionStatus(status, context?.executing.get().has(id) ?? false);
    return action.render({ status: shown, args, result: output, error });
  }
  const Component = findComponent(name, components, context);
  if (Component) return <Component id={id} name={name} args={args} status={status} output={output} error={error} />;
  return <Quiet name={name} status={status} />;
}

/** A component the agent asked for. */
export function ComponentView(props: {
  component: MessageComponent & { status?: CallStatus };
  components?: UIComponents | undefined;
}): ReactNode {
  const context = useContext(OraclesContext);
  useRegistered(context);
  const { componentName: name, args, eventId: id, status = 'done' } = props.component;
  const Component = findComponent(name, props.components, context);
  return Component ? (
    <Component id={id} name={name} args={args} status={status} />
  ) : (
    <Quiet name={name} status={status} />
  );
}

/** What the page does not know is shown small, not as an error: agents may know more components than a page. */
function Quiet({ name, status }: { name: string; status: CallStatus }): ReactNode {
  return (
    <small data-oracle-call={name} data-status={status}>
      {name}
      {status === 'isRunning' ? ' …' : status === 'error' ? ' ✕' : ' ✓'}
    </small>
  );
}

function findComponent(name: string, given: UIComponents | undefined, context: OraclesContextValue | null) {
  const known = [given, ...(context?.components.get().toReversed() ?? [])];
  // `constructor` and the like are no components.
  return known.find((components) => components && Object.hasOwn(components, name))?.[name];
}

function toActionStatus(status: CallStatus, isExecuting: boolean): ActionStatus {
  if (status !== 'isRunning') return status;
  return isExecuting ? 'executing' : 'inProgress';
}

const never = () => () => {};
const nothing = () => undefined;

/** Draws again when an action, a component or a running call of the page changes. */
function useRegistered(context: OraclesContextValue | null): void {
  useStore(context?.actions.subscribe, context?.actions.version);
  useStore(context?.components.subscribe, context?.components.get);
  useStore(context?.executing.subscribe, context?.executing.get);
}

function useStore(subscribe: Store<unknown>['subscribe'] = never, get: () => unknown = nothing): void {
  useSyncExternalStore(subscribe, get, get);
}
