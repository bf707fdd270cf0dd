import { englishWords } from '../react/content-view.tsx';
import english from './english-labels.json' with { type: 'json' };

/** Every word that the interface shows; give your own for other languages. `{name}` is the name of a file or tool, or a conversation's title. */
export const defaultLabels = {
  ...englishWords,
  ...english,
  /** In which times are written: the browser's own where it is empty. */
  language: '',
};

export type Labels = typeof defaultLabels;

export function nameIn(label: string, name: string): string {
  return label.replace('{name}', () => name);
}

/** The words of the interface in a language (`fr`, `pt-BR`); none for those it does not know, which is English. */
export async function loadLabels(language: string): Promise<Partial<Labels>> {
  const [base = ''] = language.toLowerCase().split('-');
  if (base === 'en' || base === '') return {};
  const { default: translations }: { default: Record<string, Labels> } = await import('./translated-labels.json');
  return Object.hasOwn(translations, base) ? (translations[base] ?? {}) : {};
}

export function isRightToLeft(language: string): boolean {
  return /^(ar|fa|he|ur)\b/i.test(language);
}
