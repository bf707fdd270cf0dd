import type { ReactNode } from 'react';

/** Wide content that scrolls by itself; reachable by keyboard, or those without a mouse could not scroll it. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="table-wrap" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
