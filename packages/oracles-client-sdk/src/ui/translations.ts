import type { Labels } from './labels.ts';

/** The words of the interface in a language (`fr`, `pt-BR`); none for those it does not know, which is English. */
export async function loadLabels(language: string): Promise<Partial<Labels>> {
  const [base = ''] = language.toLowerCase().split('-');
  const { default: translations }: { default: Record<string, Labels> } = await import('./translated-labels.json');
  return Object.hasOwn(translations, base) ? (translations[base] ?? {}) : {};
}

export function isRightToLeft(language: string): boolean {
  return /^(ar|fa|he|ur)\b/i.test(language);
}
