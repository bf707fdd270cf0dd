// What keypads, forms and screens agree on. It imports nothing: a thread that fills in forms loads little.

export const reservedKeys = { back: '0', backFromZero: '00', skip: '000', more: '98', exit: '*' } as const;

export const questionTypes = ['text', 'integer', 'decimal', 'date', 'phone', 'choice', 'choices'] as const;
export type QuestionType = (typeof questionTypes)[number];

export const searchAbove = 9;

/** The key of a choice: 1, 2, 3 and so on, skipping the key of More. */
export function toChoiceKey(index: number): string {
  return String(index + 1 < Number(reservedKeys.more) ? index + 1 : index + 2);
}

/** The form in which a search compares texts: without accents and capitals. */
export const toSearchable = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

export const backKeyFor = (takesZero: boolean) => (takesZero ? reservedKeys.backFromZero : reservedKeys.back);
