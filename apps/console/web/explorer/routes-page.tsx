import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { Form, InputField, Options } from '../ui/fields.tsx';
import { Link } from '../ui/link.tsx';
import { JsonView } from '../ui/table.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { type Answer, askGateway, fillRoute, type Route, type RouteParameter } from './gateway.ts';

export function RoutesPage({ routes }: { routes: Route[] }) {
  const { searchParams } = useLocation();
  const [search, setSearch] = useState('');
  const shown = routes.filter(({ path, title }) => `${path} ${title}`.toLowerCase().includes(search.toLowerCase()));
  const groups = Map.groupBy(shown, ({ group }) => group);
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
        {[...groups].map(([group, members]) => (
          <div key={group} className="route-group">
            <h2>{group}</h2>
            <ul>
              {members.map(({ path, title }) => (
                <li key={path}>
                  <Link
                    href={`/explorer?page=routes&route=${encodeURIComponent(path)}`}
                    aria-current={path === open?.path ? 'true' : undefined}
                  >
                    <span>{title}</span>
                    <code>{path}</code>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
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
