import type { ComponentProps } from 'react';

export function Button({ label, ...props }: ComponentProps<'button'> & { label: string }) {
  return (
    <button type="button" className="palaver-button" {...props}>
      {label}
    </button>
  );
}
