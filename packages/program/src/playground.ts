import { checkProgram } from './check/check-program.ts';
import { toInput } from './model/dialogue.ts';
import type { Menu, Registry } from './model/menu.ts';
import { type ActionResult, openDialogue, takeInput, takeResult } from './run/engine.ts';
import { renderScreen, type Screen } from './show/render.ts';
import { formatFault } from './values/fault.ts';
import type { Surface } from './values/surface.ts';

export interface PlaygroundOptions {
  /** The first one of the program by default. */
  language?: string;
  phoneNumber?: string;
  /** What the program is shown on; a phone's USSD screen by default. */
  surface?: Surface;
  /** The actions and validators of the host that the program names. */
  registry?: Partial<Registry>;
  /** What an action reports; its first outcome by default. */
  perform?(action: string, values: Readonly<Record<string, string>>): ActionResult | undefined;
}

/** A program in memory that can be played without a service. */
export interface Playground {
  menu: Menu;
  open(): Screen;
  press(input: string): Screen;
  readonly screen: Screen;
}

const maxActions = 10;

/**
 * Checks the files of a program, by their paths, and plays it in memory. Throws with every fault, one on each line.
 * @example
 * ```ts
 * import { playProgram } from '@palaver/program';
 *
 * const farm = playProgram({
 *   'program.yaml': `
 *     name: farm
 *     start: home
 *     exit: bye
 *     states:
 *       home: { kind: menu, text: home, options: [{ text: sell, to: kilos }] }
 *       kilos: { kind: prompt, text: kilos, type: integer, min: 1, save: kilos, to: offer }
 *       offer: { kind: page, text: offer }
 *       bye: { kind: end, text: home }`,
 *   'locales/en.yaml': `
 *     common: { more: More, back: Back, exit: Exit }
 *     hint: { empty: Please answer., choice: Please choose., integer: A whole number. }
 *     home: Farm line
 *     sell: Sell maize
 *     kilos: How many kilos?
 *     offer: We take {kilos} kilos.`,
 * });
 * farm.open();
 * farm.press('1');
 * console.log(farm.press('40').text); // We take 40 kilos. ↵ 0. Back ↵ *. Exit
 * ```
 */
export function playProgram(files: Readonly<Record<string, string>>, options: PlaygroundOptions = {}): Playground {
  const { registry, perform, phoneNumber = '+254700000001', surface } = options;
  const source = { name: 'program', files: Object.entries(files).map(([path, text]) => ({ file: path, path, text })) };
  const known = { actions: {}, validators: {}, texts: [], ...registry };
  const check = checkProgram(source, known, { name: '', files: [] });
  if (!check.ok) throw new Error(check.faults.map(formatFault).join('\n'));
  const { menu } = check;
  const { language = menu.locales.keys().next().value ?? '' } = options;
  const dial = () => openDialogue(menu, { language }, { phoneNumber, now: Date.now(), surface });
  let typed: string[] = [];
  let step = dial();
  return {
    menu,
    open() {
      typed = [];
      step = dial();
      return this.screen;
    },
    press(input) {
      if (step.ended) return this.screen;
      typed = [...typed, input];
      // Each key press has a budget of its own.
      const { caller } = step.dialogue;
      if (caller) caller.budget = undefined;
      step = takeInput(menu, step.dialogue, toInput(typed, typed.length - 1));
      for (let count = 0; step.pending; count++) {
        const state = menu.states.get(step.dialogue.state);
        if (state?.kind !== 'action' || count === maxActions) throw new Error(`${step.dialogue.state} does not end`);
        const [outcome = ''] = Object.keys(state.outcomes);
        step = takeResult(menu, step.dialogue, perform?.(state.action, step.dialogue.values) ?? { outcome });
      }
      return this.screen;
    },
    get screen() {
      return renderScreen(menu, step.dialogue);
    },
  };
}
