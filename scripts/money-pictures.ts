// Draws the pictures of docs/money.md: npm run money-pictures
import { writeFile } from 'node:fs/promises';
import { isMain } from '@palaver/service-kit';
import drawn from './money-pictures.json' with { type: 'json' };

export interface Story {
  title: string;
  actors: string[];
  /** From, to (the same for what an actor does alone), and what. `!` before the text marks where a process may be killed. */
  steps: [from: string, to: string, text: string][];
}

export const stories = drawn as unknown as Record<string, Story>;

const [column, row, margin, top] = [230, 44, 110, 96];
const escapeXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

export function toSvg({ title, actors, steps }: Story): string {
  const width = margin * 2 + column * (actors.length - 1);
  const height = top + row * steps.length + 24;
  const xOf = (actor: string) => margin + column * actors.indexOf(actor);
  const lines = actors.flatMap((actor) => {
    const x = xOf(actor);
    return [
      `<line x1="${x}" y1="72" x2="${x}" y2="${height - 12}" class="life"/>`,
      `<rect x="${x - 70}" y="42" width="140" height="30" rx="6" class="actor"/>`,
      `<text x="${x}" y="62" class="name">${escapeXml(actor)}</text>`,
    ];
  });
  const arrows = steps.flatMap(([from, to, marked], index) => {
    const y = top + row * index + 20;
    const text = marked.replace(/^!/, '');
    const [x1, x2] = [xOf(from), xOf(to)];
    const isKillable = marked.startsWith('!');
    const dot = isKillable ? [`<circle cx="${x1}" cy="${y}" r="5" class="kill"/>`] : [];
    if (x1 === x2) {
      const end = x1 + (actors.at(-1) === from ? -12 : 12);
      const anchor = actors.at(-1) === from ? 'end' : 'start';
      return [...dot, `<text x="${end}" y="${y + 4}" text-anchor="${anchor}" class="own">${escapeXml(text)}</text>`];
    }
    const tip = x2 > x1 ? x2 - 7 : x2 + 7;
    return [
      `<line x1="${x1}" y1="${y}" x2="${tip}" y2="${y}" class="arrow"/>`,
      `<path d="M${x2} ${y} L${tip} ${y - 4} L${tip} ${y + 4} Z" class="tip"/>`,
      ...dot,
      `<text x="${(x1 + x2) / 2}" y="${y - 7}" class="step">${escapeXml(text)}</text>`,
    ];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>${escapeXml(title)}</title>`,
    '<style>.life{stroke:#94a3b8;stroke-dasharray:4 4}.actor{fill:#e2e8f0;stroke:#475569}.name,.step{text-anchor:middle}',
    '.name{font-weight:bold}.arrow{stroke:#0f172a}.tip{fill:#0f172a}.kill{fill:#dc2626}.title{font-size:15px}</style>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="16" y="24" class="title">${escapeXml(title)}</text>`,
    ...lines,
    ...arrows,
    '</svg>',
  ].join('\n')}\n`;
}

export const toPath = (name: string) => new URL(`../docs/images/${name}.svg`, import.meta.url);

if (isMain(import.meta.url)) {
  for (const [name, story] of Object.entries(stories)) await writeFile(toPath(name), toSvg(story));
}
