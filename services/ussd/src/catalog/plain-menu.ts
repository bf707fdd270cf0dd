import {
  type ActionSignature,
  type Expression,
  type Fault,
  type Menu,
  type MenuCheck,
  type Registry,
  reservedKeys,
  restoreExpression,
  type Validator,
} from '@palaver/program/internal';

export interface PlainRegistry extends Omit<Registry, 'validators'> {
  validators: Record<string, Omit<Validator, 'check'> & { takesZero: boolean }>;
}

export interface PlainMenu extends Omit<Menu, 'registry' | 'expressions'> {
  expressions: ReadonlyMap<string, Pick<Expression, 'type' | 'names'>>;
}

export type PlainCheck = { ok: true; menu: PlainMenu; warnings: Fault[] } | { ok: false; faults: Fault[] };

export function toPlainRegistry({ actions, validators, ...texts }: Registry): PlainRegistry {
  const context = { answer: () => undefined, phoneNumber: '' };
  // Actions of the host have their code beside their signature.
  const isPlain = (part: unknown) => typeof part !== 'function';
  const toPlain = (action: ActionSignature) =>
    Object.fromEntries(Object.entries(action).filter(([, part]) => isPlain(part))) as unknown as ActionSignature;
  return {
    actions: Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, toPlain(action)])),
    validators: Object.fromEntries(
      Object.entries(validators).map(([name, { hints, type, check }]) => [
        name,
        { hints, ...(type && { type }), takesZero: check(reservedKeys.back, context).ok },
      ]),
    ),
    ...texts,
  };
}

/** A registry that can check a menu: its validators only say whether they accept 0. */
export function fromPlainRegistry({ actions, validators, ...texts }: PlainRegistry): Registry {
  return {
    actions,
    validators: Object.fromEntries(
      Object.entries(validators).map(([name, { takesZero, ...validator }]) => [
        name,
        { ...validator, check: (value) => (takesZero ? { ok: true, value } : { ok: false, hint: '' }) },
      ]),
    ),
    ...texts,
  };
}

export function toPlainCheck(check: MenuCheck): PlainCheck {
  return check.ok ? { ...check, menu: toPlainMenu(check.menu) } : check;
}

export function toPlainMenu({ registry: _, expressions, ...menu }: Menu): PlainMenu {
  const plain = Array.from(expressions, ([source, { type, names }]) => [source, { type, names }] as const);
  return { ...menu, expressions: new Map(plain) };
}

/** Nothing is checked again; expressions are compiled when they are first used. */
export function fromPlainMenu(menu: PlainMenu, registry: Registry): Menu {
  const expressions = Array.from(
    menu.expressions,
    ([source, known]) => [source, restoreExpression(source, known)] as const,
  );
  return { ...menu, registry, expressions: new Map(expressions) };
}
