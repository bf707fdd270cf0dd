import type { BuiltIn, BuiltInName } from '../menu/built-in-actions.ts';
import type { Dialogue } from '../menu/dialogue.ts';
import type { ActionResult } from '../menu/engine.ts';
import type { Menu } from '../menu/menu.ts';
import type { ActionContext } from './action.ts';

export interface BuiltInCall<Name extends BuiltInName = BuiltInName> {
  spec: BuiltIn<Name>;
  menu: Menu;
  dialogue: Dialogue;
  context: ActionContext;
}

export type Runs = { [Name in BuiltInName]: (call: BuiltInCall<Name>) => Promise<ActionResult> };
