import type { en } from './en.ts';

/** A sentence in the forms that `Intl.PluralRules` chooses from by `count`. */
export type Forms = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;
export type MessageKey = keyof typeof en;
export type Messages = { [Key in MessageKey]: (typeof en)[Key] extends string ? string : Forms };
