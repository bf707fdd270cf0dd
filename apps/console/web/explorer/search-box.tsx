import { type FormEvent, useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { InputField } from '../ui/fields.tsx';
import { Link } from '../ui/link.tsx';
import { findTarget } from './find-target.ts';
import type { Route } from './routes.ts';
import { toEntityPath, useEntityNames } from './use-entity-names.ts';

const shown = 8;

/** One field for everything on the protocol: a DID, address, claim, transaction or height is opened, a name is looked for. */
export function SearchBox({ routes }: { routes: Route[] }) {
  const [text, setText] = useState('');
  const names = useEntityNames(routes);
  const list = useId();
  const target = findTarget(text);
  const wanted = text.trim().toLowerCase();
  const found =
    target || wanted.length < 2
      ? []
      : [...names].filter(([, name]) => name.toLowerCase().includes(wanted)).slice(0, shown);

  function submit(event: FormEvent): void {
    event.preventDefault();
    const first = found[0];
    const to = target ?? (first && toEntityPath(first[0]));
    if (to) navigate(to);
    setText('');
  }
  return (
    <search className="explorer-search">
      <form onSubmit={submit}>
        <InputField
          label={t('explorer.search')}
          type="search"
          dir="auto"
          value={text}
          spellCheck={false}
          autoComplete="off"
          placeholder={t('explorer.searchHint')}
          aria-describedby={list}
          onChange={(event) => setText(event.target.value)}
        />
        <div id={list} className="explorer-found" aria-live="polite">
          {found.map(([id, name]) => (
            <Link key={id} href={toEntityPath(id)} onClickCapture={() => setText('')}>
              {name}
            </Link>
          ))}
          {wanted.length >= 2 && !target && found.length === 0 && <p className="empty">{t('explorer.noneFound')}</p>}
        </div>
      </form>
    </search>
  );
}
