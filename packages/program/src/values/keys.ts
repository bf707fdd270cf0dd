// What keypads, forms and screens agree on. It imports nothing: a thread that fills in forms loads little.

export const reservedKeys = { back: '0', backFromZero: '00', skip: '000', more: '98', exit: '*' } as const;

export const searchAbove = 9;

/** The key of a choice: 1, 2, 3 … without the key of More. */
export function toChoiceKey(index: number): string {
  return String(index + 1 < Number(reservedKeys.more) ? index + 1 : index + 2);
}

/** A text as it is searched for: without marks and capitals. */
export function toSearchable(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

export function backKeyFor(takesZero: boolean): string {
  return takesZero ? reservedKeys.backFromZero : reservedKeys.back;
}
