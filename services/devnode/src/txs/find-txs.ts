import type { TxRecord } from './tx-pool.ts';

interface Condition {
  key: string;
  operator: string;
  value: string;
}

const condition = /^\s*([\w./-]+)\s*(=|<=|>=|<|>)\s*(?:'([^']*)'|(\d+))\s*$/;

/** The conditions of a search such as `transfer.recipient='ixo1…' AND tx.height>=5`; undefined if it cannot be read. */
export function parseSearch(query: string): Condition[] | undefined {
  const conditions = query.split(/\s+AND\s+/).map((text) => {
    const [, key, operator, quoted, number] = condition.exec(text) ?? [];
    return key === undefined || operator === undefined ? undefined : { key, operator, value: quoted ?? number ?? '' };
  });
  return conditions.every((found) => found !== undefined) ? conditions : undefined;
}

export function matchesSearch(record: TxRecord, conditions: readonly Condition[]): boolean {
  return conditions.every(({ key, operator, value }) => {
    if (key === 'tx.height') return compare(record.height, operator, Number(value));
    if (key === 'tx.hash') return record.tx.hash === value.toUpperCase();
    return record.events.some(({ type, attributes }) =>
      attributes.some(
        (attribute) =>
          `${type}.${attribute.key}` === key &&
          (operator === '=' ? attribute.value === value : compare(Number(attribute.value), operator, Number(value))),
      ),
    );
  });
}

function compare(left: number, operator: string, right: number): boolean {
  if (operator === '=') return left === right;
  if (operator === '<=') return left <= right;
  if (operator === '>=') return left >= right;
  return operator === '<' ? left < right : left > right;
}
