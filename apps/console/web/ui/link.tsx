import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { navigate } from '../location.ts';

/** A link inside the page: an address like any other, followed without loading the page again. */
export function Link({ href, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}
