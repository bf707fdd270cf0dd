import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';

export function Link({ href, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}

type GuideName = 'agent-api' | 'console' | 'data' | 'gateway' | 'money' | 'ussd' | 'ussd-menus';

export function GuideLink({ name }: { name: GuideName }) {
  return <Link href={`/guide?name=${name}`}>{t('app.guide')}</Link>;
}

interface TabsProps<Name extends string> {
  label: string;
  open: Name | undefined;
  tabs: readonly { name: Name; title: string; href: string }[];
}

export function Tabs<Name extends string>({ label, open, tabs }: TabsProps<Name>) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ name, title, href }) => (
        <Link key={name} href={href} aria-current={name === open ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
}

interface ChoiceProps<Name extends string> {
  label: string;
  chosen: Name;
  choices: readonly (readonly [name: Name, title: string])[];
  onChoose(name: Name): void;
}

export function ChoiceTabs<Name extends string>({ label, chosen, choices, onChoose }: ChoiceProps<Name>) {
  return (
    <nav className="tabs" aria-label={label}>
      {choices.map(([name, title]) => (
        <button key={name} type="button" aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {title}
        </button>
      ))}
    </nav>
  );
}
