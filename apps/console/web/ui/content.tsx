import { type AnchorHTMLAttributes, Fragment, type MouseEvent, type ReactNode, useId, useMemo, useState } from 'react';
import { keepOperatorToken, ServiceFault, useOperatorToken } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { Button, Form, InputField } from './controls.tsx';

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

interface ViewHeadProps {
  title: ReactNode;
  intro: ReactNode;
  guide: GuideName;
  note?: ReactNode;
  children?: ReactNode;
}

export function ViewHead({ title, intro, guide, note, children }: ViewHeadProps) {
  return (
    <div className="view-head">
      <div>
        <h1>{title}</h1>
        <p>
          {intro} <GuideLink name={guide} /> {note}
        </p>
      </div>
      {children}
    </div>
  );
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

interface PanelProps {
  title: string;
  level?: 2 | 3;
  beside?: ReactNode;
  empty?: string | false;
  className?: string;
  children?: ReactNode;
}

export function Panel({ title, level = 2, beside, empty, className, children }: PanelProps) {
  const heading = useId();
  const Title = `h${level}` as const;
  return (
    <section className={className ? `panel ${className}` : 'panel'} aria-labelledby={heading}>
      {beside === undefined ? (
        <Title id={heading}>{title}</Title>
      ) : (
        <div className="panel-head">
          <Title id={heading}>{title}</Title>
          {beside}
        </div>
      )}
      {empty ? <p className="empty">{empty}</p> : children}
    </section>
  );
}

interface FactsProps {
  rows: readonly (readonly [name: string, value: ReactNode])[];
  className?: string;
  dir?: 'auto';
  isNumeric?: boolean;
}

export function Facts({ rows, className, dir, isNumeric }: FactsProps) {
  return (
    <dl className={className ? `facts ${className}` : 'facts'}>
      {rows.map(([name, value]) => (
        <div key={name} className="facts-row">
          <dt>{name}</dt>
          <dd dir={dir} className={isNumeric ? 'numbers' : undefined}>
            {value}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Services answer in English, whatever the language of the page. */
export function Fault({ error }: { error: Error }) {
  return (
    <p className="notice notice-danger" role="alert" dir="auto" lang={error instanceof ServiceFault ? 'en' : undefined}>
      {error.message}
    </p>
  );
}

export function Refusal({ text, small }: { text: string; small?: boolean }) {
  if (text === '') return null;
  return (
    <p className={small ? 'small over' : 'notice notice-danger'} role="alert">
      {text}
    </p>
  );
}

/** Stays in the page while it is empty, so that a new text is read aloud. */
export function Notice({ text, look = 'notice' }: { text: string; look?: 'notice' | 'small' }) {
  return (
    <p role="status" className={text ? look : 'visually-hidden'}>
      {text}
    </p>
  );
}

export function Waiting({ error }: { error?: Error | null }) {
  return error ? <Fault error={error} /> : <p className="quiet">{t('app.loading')}</p>;
}

export function OperatorSignIn({ message }: { message: string }) {
  const current = useOperatorToken();
  const [token, setToken] = useState('');
  return (
    <Form className="sign-in" onSubmit={() => keepOperatorToken(token.trim())}>
      <p>{current ? t('operator.refused') : message}</p>
      <div className="field-row">
        <InputField label={t('operator.token')} type="password" autoComplete="off" value={token} onChange={setToken} />
        <Button text={t('operator.signIn')} type="submit" main disabled={token.trim() === ''} />
      </div>
    </Form>
  );
}

interface TableProps {
  label: string;
  /** A column of numbers is `[head]`; without a head it is ''. */
  heads: readonly (string | [string])[];
  className?: string;
  children: ReactNode;
}

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

/** Takes focus, so that it can be scrolled by keyboard. */
function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // A group: as a landmark it would have the name of the panel around it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    <div role="group" className="table-wrap" tabIndex={0} aria-label={label}>
      {children}
    </div>
  );
}

interface PagerProps {
  label: string;
  place?: string;
  onPrevious: (() => void) | undefined;
  onNext: (() => void) | undefined;
}

export function Pager({ label, place, onPrevious, onNext }: PagerProps) {
  return (
    <nav className="pager" aria-label={label}>
      <Button text={t('app.previous')} disabled={!onPrevious} onClick={onPrevious} />
      {place && <span className="numbers">{place}</span>}
      <Button text={t('app.next')} disabled={!onNext} onClick={onNext} />
    </nav>
  );
}

const largest = 200_000;
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2)), [value]);
  return (
    <ScrollRegion label={label}>
      <pre className="json">{text.length > largest ? text : colour(text)}</pre>
    </ScrollRegion>
  );
}

function colour(text: string) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon, word] = match;
    const kind = string ? (colon ? 'json-key' : 'json-string') : word ? 'json-word' : 'json-number';
    parts.push(
      <Fragment key={match.index}>
        {text.slice(end, match.index)}
        <span className={kind}>{whole}</span>
      </Fragment>,
    );
    end = match.index + whole.length;
  }
  parts.push(text.slice(end));
  return parts;
}
