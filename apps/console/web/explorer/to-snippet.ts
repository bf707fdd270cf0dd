import type { RequestParts } from './routes.ts';

export const snippetLanguages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const;
export type SnippetLanguage = keyof typeof snippetLanguages;

/** The request for a shell or a program. */
export function toSnippet(language: SnippetLanguage, address: string, { target, headers }: RequestParts): string {
  const url = address + target;
  const entries = Object.entries(headers);
  if (language === 'curl')
    return ['curl', quote(url), ...entries.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)].join(' ');
  const json = (value: unknown) => JSON.stringify(value);
  if (language === 'typescript') {
    const options = entries.length > 0 ? `, { headers: ${json(headers)} }` : '';
    return `const reply = await fetch(${json(url)}${options});\nif (!reply.ok) throw new Error(await reply.text());\nconst answer = await reply.json();`;
  }
  const options = entries.length > 0 ? `, headers=${json(headers)}` : '';
  return `import json\nfrom urllib.request import Request, urlopen\n\nwith urlopen(Request(${json(url)}${options})) as reply:\n    answer = json.load(reply)`;
}

function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
