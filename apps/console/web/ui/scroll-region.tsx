import type { ReactNode } from 'react';

/** Wide content with its own scroll bar. It takes focus, so that it can be scrolled by keyboard. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // A group: as a landmark it would have the name of the panel around it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    <div role="group" className="table-wrap" tabIndex={0} aria-label={label}>
      {children}
    </div>
  );
}
