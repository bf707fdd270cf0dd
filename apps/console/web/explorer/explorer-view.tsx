import '../styles/explorer.css';
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Fault, Link, Tabs, ViewHead } from '../ui/content.tsx';
import { Form, InputField } from '../ui/controls.tsx';
import { BlocksPage, RecordPage, recordNames, TransactionsPage } from './chain-pages.tsx';
import { ClaimsPage } from './claims-page.tsx';
import { EntitiesPage } from './entities-page.tsx';
import { askGateway, usePaths, useRoutes } from './gateway.ts';
import { findTarget, toEntityPath, useEntityNames } from './protocol.ts';
import { RoutesPage } from './routes-page.tsx';
import { TokensPage } from './tokens-page.tsx';

const pages = [
  { name: 'entities', title: 'explorer.entities', Page: EntitiesPage },
  { name: 'claims', title: 'explorer.claims', Page: ClaimsPage },
  { name: 'tokens', title: 'explorer.tokens', Page: TokensPage },
  { name: 'transactions', title: 'explorer.transactions', Page: TransactionsPage },
  { name: 'blocks', title: 'explorer.blocks', Page: BlocksPage },
  { name: 'routes', title: 'explorer.routes', Page: RoutesPage },
] as const;

export function ExplorerView() {
  const { searchParams } = useLocation();
  const wanted = searchParams.get('page');
  const record = recordNames.find((name) => name === wanted);
  const open = record ? undefined : (pages.find(({ name }) => name === wanted) ?? pages[0]);
  const routes = useRoutes();
  return (
    <>
      <ViewHead
        title={t('app.explorer')}
        intro={t('explorer.intro')}
        guide="gateway"
        note={routes.data && <LiveHeight />}
      >
        <Tabs
          label={t('explorer.pages')}
          open={open?.name}
          tabs={pages.map(({ name, title }) => ({ name, title: t(title), href: `/explorer?page=${name}` }))}
        />
      </ViewHead>
      {routes.error ? (
        <Fault error={routes.error} />
      ) : routes.data ? (
        <>
          <SearchBox />
          {record && <RecordPage key={searchParams.get('id')} name={record} />}
          {open && <open.Page />}
        </>
      ) : (
        <p className="quiet">{t('explorer.askingRoutes')}</p>
      )}
    </>
  );
}

function LiveHeight() {
  const [path] = usePaths('/blocks/latest');
  const { data } = useQuery({
    queryKey: ['latest-block', path],
    enabled: path !== undefined,
    refetchInterval: 5_000,
    queryFn: async () => {
      const { body } = await askGateway({ target: path ?? '', headers: {} });
      return (body as { block?: { header?: { height?: string } } }).block?.header?.height ?? null;
    },
  });
  if (!data) return null;
  return (
    <Link className="badge badge-ok numbers" href={`/explorer?page=block&id=${data}`}>
      {t('explorer.height', { height: Number(data) })}
    </Link>
  );
}

const shown = 8;

function SearchBox() {
  const [text, setText] = useState('');
  const names = useEntityNames();
  const list = useId();
  const target = findTarget(text);
  const wanted = text.trim().toLowerCase();
  const found =
    target || wanted.length < 2
      ? []
      : [...names].filter(([, name]) => name.toLowerCase().includes(wanted)).slice(0, shown);

  function submit(): void {
    const first = found[0];
    const to = target ?? (first && toEntityPath(first[0]));
    if (to) navigate(to);
    setText('');
  }
  return (
    <search className="explorer-search">
      <Form onSubmit={submit}>
        <InputField
          label={t('explorer.search')}
          type="search"
          dir="auto"
          value={text}
          spellCheck={false}
          autoComplete="off"
          placeholder={t('explorer.searchHint')}
          aria-describedby={list}
          onChange={setText}
        />
        <div id={list} className="explorer-found" aria-live="polite">
          {found.map(([id, name]) => (
            <Link key={id} href={toEntityPath(id)} onClickCapture={() => setText('')}>
              {name}
            </Link>
          ))}
          {wanted.length >= 2 && !target && found.length === 0 && <p className="empty">{t('explorer.noneFound')}</p>}
        </div>
      </Form>
    </search>
  );
}
