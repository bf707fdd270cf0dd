import { targetsOf } from './check-menu.ts';
import { translate } from './locales.ts';
import { type Menu, resumeTarget } from './menu.ts';

/** The menu as a Mermaid flowchart, for `palaver menu draw` and for documents. */
export function drawMenu(menu: Menu, language: string): string {
  const lines = ['flowchart TD'];
  for (const [name, state] of menu.states) {
    const text = state.kind === 'action' ? state.action : firstLine(translate(menu.locales, language, state.text));
    const label = `"${escapeLabel(`${name}: ${text}`)}"`;
    const shapes = {
      menu: `[${label}]`,
      prompt: `[/${label}/]`,
      page: `(${label})`,
      action: `{{${label}}}`,
      end: `([${label}])`,
    };
    lines.push(`  ${name}${shapes[state.kind]}`);
    for (const { to, label: edge } of targetsOf(state)) {
      if (to !== resumeTarget) lines.push(`  ${name} -->|${escapeLabel(edge)}| ${to}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

function escapeLabel(text: string): string {
  return text.replace(/["<>&|{}[\]()]/g, (char) => `#${char.codePointAt(0)};`);
}
