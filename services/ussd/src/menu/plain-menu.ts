import type { ActionSignature } from './action-signature.ts';
import type { MenuCheck } from './check-menu.ts';
import { type Expression, restoreExpression } from './expressions.ts';
import type { Fault } from './fault.ts';
import { type Menu, type Registry, reservedKeys, type Validator } from './menu.ts';

/** What may cross to another thread: everything but code. */
export interface PlainRegistry {
  actions: Record<string, ActionSignature>;
  validators: Record<string, Omit<Validator, 'check'> & { takesZero: boolean }>;
  texts: readonly string[];
}

export interface PlainMenu extends Omit<Menu, 'registry' | 'expressions'> {
  expressions: ReadonlyMap<string, Omit<Expression, 'run'>>;
}

export type PlainCheck = { ok: true; menu: PlainMenu; warnings: Fault[] } | { ok: false; faults: Fault[] };

export function toPlainRegistry({ actions, validators, texts }: Registry): PlainRegistry {
  const entries = Object.entries(actions).map(([name, { outcomes, finishes, texts, optionalTexts, values }]) => {
    const optional = { ...(texts && { texts }), ...(optionalTexts && { optionalTexts }), ...(values && { values }) };
    return [name, { outcomes, finishes, ...optional }] as const;
  });
  const context = { answer: () => undefined, phoneNumber: '' };
  return {
    actions: Object.fromEntries(entries),
    validators: Object.fromEntries(
      Object.entries(validators).map(([name, { hints, type, check }]) => [
        name,
        { hints, ...(type && { type }), takesZero: check(reservedKeys.back, context).ok },
      ]),
    ),
    texts,
  };
}

/** Enough to check a menu with: its validators only say whether they take 0. */
export function fromPlainRegistry({ actions, validators, texts }: PlainRegistry): Registry {
  return {
    actions,
    validators: Object.fromEntries(
      Object.entries(validators).map(([name, { takesZero, ...validator }]) => [
        name,
        { ...validator, check: (value) => (takesZero ? { ok: true, value } : { ok: false, hint: '' }) },
      ]),
    ),
    texts,
  };
}

export function toPlainCheck(check: MenuCheck): PlainCheck {
  if (!check.ok) return check;
  const { registry: _, expressions, ...menu } = check.menu;
  const plain = Array.from(expressions, ([source, { type, names }]) => [source, { type, names }] as const);
  return { ...check, menu: { ...menu, expressions: new Map(plain) } };
}

/** Nothing is checked again; expressions are compiled. */
export function fromPlainCheck(check: PlainCheck, registry: Registry): MenuCheck {
  if (!check.ok) return check;
  const expressions = Array.from(
    check.menu.expressions,
    ([source, known]) => [source, restoreExpression(source, known)] as const,
  );
  return { ...check, menu: { ...check.menu, registry, expressions: new Map(expressions) } };
}
