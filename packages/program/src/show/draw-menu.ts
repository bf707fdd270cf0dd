import { translate } from '../model/locales.ts';
import { type Menu, resumeTarget } from '../model/menu.ts';
import { kindOf, targetsOf } from '../states/states.ts';

export function drawMenu(menu: Menu, language: string): string {
  const lines = ['flowchart TD'];
  for (const [name, state] of menu.states) {
    const text =
      'text' in state
        ? translate(menu.locales, language, state.text).split('\n', 1)[0]
        : (kindOf(state).summary?.(state) ?? state.kind);
    const label = `"${escapeLabel(`${name}: ${text}`)}"`;
    const [open, close] = kindOf(state).outline;
    lines.push(`  ${name}${open}${label}${close}`);
    for (const { to, label: edge } of targetsOf(state)) {
      if (to !== resumeTarget) lines.push(`  ${name} -->|${escapeLabel(edge)}| ${to}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function escapeLabel(text: string): string {
  return text.replace(/["<>&|{}[\]()]/g, (char) => `#${char.codePointAt(0)};`);
}
