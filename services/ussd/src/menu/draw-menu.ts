import { translate } from './locales.ts';
import { type Menu, resumeTarget, type State } from './menu.ts';
import { targetsOf } from './targets.ts';

/** The menu as a Mermaid flowchart, for `palaver menu draw` and for documents. */
export function drawMenu(menu: Menu, language: string): string {
  const lines = ['flowchart TD'];
  for (const [name, state] of menu.states) {
    const text = 'text' in state ? firstLine(translate(menu.locales, language, state.text)) : toSummary(state);
    const label = `"${escapeLabel(`${name}: ${text}`)}"`;
    const shapes = {
      menu: `[${label}]`,
      prompt: `[/${label}/]`,
      page: `(${label})`,
      action: `{{${label}}}`,
      form: `[/${label}/]`,
      end: `([${label}])`,
    };
    lines.push(`  ${name}${state.kind in shapes ? shapes[state.kind as keyof typeof shapes] : `{${label}}`}`);
    for (const { to, label: edge } of targetsOf(state)) {
      if (to !== resumeTarget) lines.push(`  ${name} -->|${escapeLabel(edge)}| ${to}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function toSummary(state: State): string {
  if (state.kind === 'action') return state.action;
  if (state.kind === 'form') return state.form;
  if (state.kind === 'set') return Object.keys(state.values).join(', ');
  return state.kind === 'each' ? `each ${state.as}` : state.kind;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

function escapeLabel(text: string): string {
  return text.replace(/["<>&|{}[\]()]/g, (char) => `#${char.codePointAt(0)};`);
}
