import type { ReactNode } from 'react';
import { ScrollRegion } from './scroll-region.tsx';

interface TableProps {
  label: string;
  /** A column of numbers is `[head]`; without a head it is ''. */
  heads: readonly (string | [string])[];
  className?: string;
  children: ReactNode;
}

/** Rows under heads, in a region of its own that scrolls. */
export function Table({ label, heads, className, children }: TableProps) {
  return (
    <ScrollRegion label={label}>
      <table className={className}>
        <thead>
          <tr>
            {heads.map((head) =>
              head === '' ? (
                <td key="" />
              ) : (
                <th key={String(head)} scope="col" className={typeof head === 'string' ? undefined : 'number'}>
                  {head}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </ScrollRegion>
  );
}
