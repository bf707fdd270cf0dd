// The service takes Latin letters and digits in names, which are therefore made from what people write.

export const templates = ['blank', 'survey', 'registration', 'helpline', 'prices', 'savings'] as const;
export type Template = (typeof templates)[number];

export const answerTypes = ['text', 'integer', 'decimal', 'choice', 'choices', 'yesNo', 'date', 'phone'] as const;

export const codePattern = String.raw`\*[0-9*]+#`;

function toWords(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/\{\w+\}/g, ' ');
  return plain.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

export function toFree(name: string, taken: ReadonlySet<string>, join = ''): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}${join}${number}`;
  return free;
}

/** `water-point-survey` for “Water point survey”. */
export function toProgramName(title: string, taken: ReadonlySet<string>): string {
  const name = toWords(title)
    .join('-')
    .replace(/^[0-9-]+/, '')
    .slice(0, 36)
    .replace(/-$/, '');
  return toFree(name || 'program', taken, '-');
}

/** `howManyPeople` for “How many people live here?”. */
export function toStateName(text: string, taken: ReadonlySet<string>, otherwise = 'step'): string {
  if (/^[A-Za-z][A-Za-z0-9]{0,39}$/.test(text)) return toFree(text, taken);
  const words = toWords(text).slice(0, 4);
  const name = words
    .map((word, i) => (i === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('')
    .replace(/^\d+/, '')
    .slice(0, 30);
  return toFree(name || otherwise, taken);
}

/** `very-good` for “Very good”. */
export function toValue(text: string, taken: ReadonlySet<string>): string {
  return toFree(toWords(text).slice(0, 5).join('-').slice(0, 40) || 'choice', taken, '-');
}

export const toTitle = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');
