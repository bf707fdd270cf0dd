import type { ReactNode } from 'react';

/** Wide content with its own scroll bar. It takes focus, so that it can be scrolled by keyboard. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="table-wrap" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
