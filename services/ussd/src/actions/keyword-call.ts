import type { ActionResult, BuiltIn, BuiltInName, Dialogue, Menu } from '@palaver/program/internal';
import type { ActionContext } from './action.ts';

export interface BuiltInCall<Name extends BuiltInName = BuiltInName> {
  spec: BuiltIn<Name>;
  menu: Menu;
  dialogue: Dialogue;
  context: ActionContext;
}

export type Runs = { [Name in BuiltInName]: (call: BuiltInCall<Name>) => Promise<ActionResult> };
