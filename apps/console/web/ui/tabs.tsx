import { Link } from './link.tsx';

interface TabsProps<Name extends string> {
  label: string;
  open: Name | undefined;
  tabs: readonly { name: Name; title: string; href: string }[];
}

/** The pages of a view, each with an address. */
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

/** One of a few, as buttons beside each other. */
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
