import {
  type Expression,
  type Fault,
  type Menu,
  type MenuCheck,
  type Registry,
  restoreExpression,
} from '@palaver/program/internal';

export interface PlainMenu extends Omit<Menu, 'registry' | 'expressions'> {
  expressions: ReadonlyMap<string, Pick<Expression, 'type' | 'names'>>;
}

export type PlainCheck = { ok: true; menu: PlainMenu; warnings: Fault[] } | { ok: false; faults: Fault[] };

/** Without the code of actions and validators, which does not cross to a thread. */
export function toPlainRegistry(registry: Registry): Registry {
  return JSON.parse(JSON.stringify(registry));
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
