import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Fault, JsonView, Link } from '../ui/content.tsx';
import { Button, Form, InputField, Options } from '../ui/controls.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { type Answer, askGateway, fillRoute, type Route, type RouteParameter, useRoutes } from './gateway.ts';

const toRoutePath = (path: string) => `/explorer?page=routes&route=${encodeURIComponent(path)}`;

interface GroupedLinksProps<Item> {
  groups: ReadonlyMap<string, readonly Item[]>;
  open: string | undefined;
  toLink(item: Item): { id: string; href: string; title: string | undefined; code: string };
}

export function GroupedLinks<Item>({ groups, open, toLink }: GroupedLinksProps<Item>) {
  return Array.from(groups, ([group, members]) => (
    <div key={group} className="route-group">
      <h2>{group}</h2>
      <ul>
        {members.map(toLink).map(({ id, href, title, code }) => (
          <li key={id}>
            <Link href={href} aria-current={id === open ? 'true' : undefined}>
              {title && <span>{title}</span>}
              <code>{code}</code>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  ));
}

export function RoutesPage() {
  const { searchParams } = useLocation();
  const { data: routes = [] } = useRoutes();
  const [search, setSearch] = useState('');
  const shown = routes.filter(({ path, title }) => `${path} ${title}`.toLowerCase().includes(search.toLowerCase()));
  const open = routes.find(({ path }) => path === searchParams.get('route')) ?? shown[0];
  return (
    <div className="split">
      <section className="panel split-list" aria-label={t('explorer.routeList')}>
        <InputField
          label={t('explorer.routeCount', { count: routes.length })}
          type="search"
          placeholder={t('explorer.routeHint')}
          value={search}
          onChange={setSearch}
        />
        <GroupedLinks
          groups={Map.groupBy(shown, ({ group }) => group)}
          open={open?.path}
          toLink={({ path, title }) => ({ id: path, href: toRoutePath(path), title, code: path })}
        />
        {shown.length === 0 && <p className="empty">{t('explorer.noRoute', { text: search })}</p>}
      </section>
      {open && <RouteForm key={open.path} route={open} />}
    </div>
  );
}

function RouteForm({ route }: { route: Route }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [answer, setAnswer] = useState<Answer>();
  const ask = useMutation({ mutationFn: askGateway, onSuccess: setAnswer });
  const keyOf = ({ place, name }: RouteParameter) => `${place}:${name}`;
  return (
    <section className="panel route-form" aria-label={route.title}>
      <h2>{route.title}</h2>
      <p className="route-path">
        <span className="badge">GET</span> <code>{route.path}</code>
      </p>
      {route.description && (
        <p className="quiet" lang="en" dir="auto">
          {route.description}
        </p>
      )}
      <Form onSubmit={() => ask.mutate(fillRoute(route, values))}>
        <div className="form-grid">
          {route.parameters.map((parameter) => (
            <ParameterField
              key={keyOf(parameter)}
              parameter={parameter}
              value={values[keyOf(parameter)] ?? ''}
              onChange={(value) => setValues({ ...values, [keyOf(parameter)]: value })}
            />
          ))}
        </div>
        <Button type="submit" main disabled={ask.isPending}>
          {t(ask.isPending ? 'explorer.asking' : 'explorer.ask')}
        </Button>
      </Form>
      {ask.error && <Fault error={ask.error} />}
      {answer && (
        <>
          <AnswerBar answer={answer} />
          <JsonView value={answer.body} label={t('explorer.answer')} />
        </>
      )}
    </section>
  );
}

interface ParameterFieldProps {
  parameter: RouteParameter;
  value: string;
  onChange(value: string): void;
}

function ParameterField({ parameter, value, onChange }: ParameterFieldProps) {
  const { name, place, required, hint, choices } = parameter;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>
        {name}
        {required ? ` ${t('explorer.required')}` : ''}
        {place === 'header' ? ` ${t('explorer.header')}` : ''}
      </label>
      {choices.length > 0 ? (
        <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{t('explorer.notSet')}</option>
          <Options of={choices} />
        </select>
      ) : (
        <input
          id={id}
          value={value}
          required={required}
          placeholder={hint}
          title={hint}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </div>
  );
}
