import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { type Answer, askGateway } from './ask-gateway.ts';
import { fillRoute, type Route, type RouteParameter } from './routes.ts';

export function RouteForm({ route }: { route: Route }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [answer, setAnswer] = useState<Answer>();
  const ask = useMutation({ mutationFn: askGateway, onSuccess: setAnswer });
  const keyOf = ({ place, name }: RouteParameter) => `${place}:${name}`;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask.mutate(fillRoute(route, values));
  };
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
      <form onSubmit={submit}>
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
      </form>
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
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
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
