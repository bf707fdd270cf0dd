import type { ReactNode, RefObject } from 'react';
import type { ClientAction } from '../core/client-tools.ts';
import type { Schema, SchemaOutput } from '../core/schema.ts';
import { createStore } from '../core/store.ts';
import type { Arguments, CallStatus } from '../core/wire.ts';

export interface ActionRenderProps<Args = Arguments> {
  status: CallStatus;
  isLoading: boolean;
  /** While the handler runs on this page, and not in another tab. */
  isExecuting: boolean;
  args: Args;
  /** What the handler returned, once `done`. */
  result?: unknown;
  error?: string | undefined;
}

export interface AgActionOptions<S extends Schema = Schema> {
  name: string;
  description: string;
  parameters: S;
  handler: (args: SchemaOutput<S>) => Promise<unknown> | unknown;
  /** Draws the call inside the conversation. */
  render?: ((props: ActionRenderProps<SchemaOutput<S>>) => ReactNode) | undefined;
}

type Registration = RefObject<AgActionOptions>;

/** The actions of the page. The version changes whenever something would be drawn differently. */
export function createActionRegistry() {
  const registered = new Map<string, Registration[]>();
  const version = createStore(0);
  const touch = () => version.set(version.get() + 1);
  // Where two components register the same name, the later one counts until it goes.
  const find = (name: string) => registered.get(name)?.at(-1)?.current;

  return {
    touch,
    find,
    version: version.get,
    subscribe: version.subscribe,
    add(name: string, registration: Registration) {
      registered.set(name, [...(registered.get(name) ?? []), registration]);
      touch();
      return () => {
        const others = (registered.get(name) ?? []).filter((other) => other !== registration);
        if (others.length > 0) registered.set(name, others);
        else registered.delete(name);
        touch();
      };
    },
    toClientActions: (): ClientAction[] =>
      [...registered.keys()].flatMap((name) => {
        const action = find(name);
        if (!action) return [];
        const { description, parameters, handler, render } = action;
        return [
          { name, description, parameters, handler: handler as ClientAction['handler'], hasRender: Boolean(render) },
        ];
      }),
  };
}
