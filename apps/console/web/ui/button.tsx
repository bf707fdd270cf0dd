import type { ButtonHTMLAttributes } from 'react';
import { Icon, type IconName } from './icon.tsx';

type Attributes = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'>;

interface ButtonProps extends Attributes {
  icon?: IconName;
  small?: boolean;
  /** What the page is for; one in a view. */
  main?: boolean;
  danger?: boolean;
}

/** A button with a text, which sends its form only as `type="submit"`. */
export function Button({ icon, small, main, danger, type = 'button', children, ...rest }: ButtonProps) {
  const looks = ['button', small && 'button-small', main && 'button-main', danger && 'button-danger'];
  return (
    <button type={type} className={looks.filter(Boolean).join(' ')} {...rest}>
      {icon && <Icon name={icon} size={small ? 16 : 18} />}
      {children}
    </button>
  );
}

/** A button that is an icon; its label is for those who do not see it. */
export function IconButton({
  icon,
  label,
  size,
  ...rest
}: Attributes & { icon: IconName; label: string; size?: number }) {
  return (
    <button type="button" className="icon-button" aria-label={label} {...rest}>
      <Icon name={icon} size={size} />
    </button>
  );
}
