import type { OfflineRequest } from './request.ts';

// Tools that a page may offer: a chart drawn in the conversation, and the page's colours.
const chart = /\b(?:chart|graphique|chati)\b|مخطط/i;
const theme = /\b(?:theme|thème|mandhari)(?![\p{L}])|المظهر/iu;
const themes = [
  { name: 'dark', pattern: /\b(?:dark|sombre|giza)\b|الداكن/i },
  { name: 'light', pattern: /\b(?:light|clair|angavu)\b|الفاتح/i },
  { name: 'system', pattern: /\b(?:system|système|mfumo)(?![\p{L}])|النظام/iu },
];
const maxBars = 12;

/** "Draw a chart of the trees planted: June 120, July 310" and "switch this page to the dark theme". */
export function readPageRequest(text: string): OfflineRequest | undefined {
  return readChart(text.slice(0, 2_000)) ?? readTheme(text.slice(0, 200));
}

function readChart(text: string): OfflineRequest | undefined {
  const [intro = '', list = ''] = text.split(/\s*:\s*/, 2);
  if (!chart.test(intro)) return undefined;
  const bars = list.split(/[,،;\n]/).flatMap((entry) => {
    const [, label, value] = /^\s*(.{1,60}?)\s+(\d{1,12}(?:\.\d{1,6})?)\s*\.?$/u.exec(entry) ?? [];
    return label && value ? [{ label, value: Number(value) }] : [];
  });
  if (bars.length === 0) return undefined;
  const title = intro.trim();
  return { tool: 'show_bars', args: { title, bars: bars.slice(0, maxBars) }, reasoning: 'The user asks for a chart.' };
}

function readTheme(text: string): OfflineRequest | undefined {
  const wanted = theme.test(text) ? themes.find(({ pattern }) => pattern.test(text)) : undefined;
  if (!wanted || text.trimEnd().endsWith('?')) return undefined;
  return { tool: 'set_page_theme', args: { theme: wanted.name }, reasoning: 'The user asks for another theme.' };
}
