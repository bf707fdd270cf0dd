import { useMemo } from 'react';
import { t } from '../i18n/text.ts';
import { Button, SelectField } from '../ui/controls.tsx';
import { Removable, TextField } from './editor-fields.tsx';
import { useProgram } from './program-context.ts';
import { type ProgramModel, sayIn, toRecord } from './read-program.ts';

interface ConditionFieldProps {
  label: string;
  value: unknown;
  onChange(expression: string): void;
  /** Offered first: values that only this condition can compare. */
  own?: Variable[];
}

const none: Condition = { join: '&&', parts: [] };
const noVariables: Variable[] = [];

export function ConditionField({ label, value, onChange, own = noVariables }: ConditionFieldProps) {
  const { model } = useProgram();
  const expression = String(value ?? '').trim();
  const variables = useMemo(() => [...own, ...listVariables(model)], [own, model]);
  // A new condition is `true`.
  const condition = expression === '' || expression === 'true' ? none : parseCondition(expression);
  const { parts, join } = condition ?? none;
  const change = (next: Comparison[], by = join) => onChange(printCondition({ join: by, parts: next }));
  const [first] = variables;
  return (
    <fieldset className="condition">
      <legend>{label}</legend>
      {parts.map((part, i) => (
        <Removable
          // biome-ignore lint/suspicious/noArrayIndexKey: a comparison is known by its place
          key={i}
          name={printCondition({ join, parts: [part] })}
          onRemove={() => change(parts.toSpliced(i, 1))}
        >
          <Row variables={variables} part={part} onChange={(next) => change(parts.with(i, next))} />
        </Removable>
      ))}
      <div className="field-row">
        {parts.length > 1 && (
          <SelectField label={t('programs.join')} value={join} onChange={(by) => change(parts, by)}>
            <option value="&&">{t('programs.joinAll')}</option>
            <option value="||">{t('programs.joinAny')}</option>
          </SelectField>
        )}
        {condition && first && (
          <Button
            text={t('programs.addComparison')}
            small
            icon="plus"
            aria-label={`${t('programs.addComparison')}: ${label}`}
            onClick={() => change([...parts, toComparison(first)])}
          />
        )}
      </div>
      <TextField label={t('programs.expressionOf', { name: label })} value={value} onChange={onChange} />
    </fieldset>
  );
}

function toComparison({ name, type, choices }: Variable): Comparison {
  const value = isNumeric(type) ? '0' : JSON.stringify(choices[0]?.value ?? '');
  return { variable: name, operator: type === 'choices' ? 'in' : isNumeric(type) ? '>=' : '==', value };
}

interface RowProps {
  variables: Variable[];
  part: Comparison;
  onChange(part: Comparison): void;
}

function Row({ variables, part, onChange }: RowProps) {
  const known = variables.find(({ name }) => name === part.variable);
  const { type, choices } = known ?? { type: 'any', choices: [] };
  const names = new Set(variables.map(({ name }) => name));
  const offered = operators.filter(
    (operator) => operator === part.operator || (operator === 'in') === (type === 'choices'),
  );
  const typed = fromLiteral(part.value);
  return (
    <div className="comparison">
      <SelectField
        label={t('programs.compared')}
        value={part.variable}
        onChange={(value) => {
          const next = variables.find(({ name }) => name === value);
          if (next) onChange(toComparison(next));
        }}
        options={variables.map(({ name, label }) => [name, label])}
      >
        {!known && <option>{part.variable}</option>}
      </SelectField>
      <SelectField
        label={t('programs.operator')}
        value={part.operator}
        onChange={(value) => onChange({ ...part, operator: value })}
        options={offered.map((operator) => [operator, t(`programs.op${operator}`)])}
      />
      {choices.length > 0 ? (
        <SelectField
          label={t('programs.value')}
          value={typed}
          onChange={(value) => onChange({ ...part, value: JSON.stringify(value) })}
          options={choices.map(({ value, label }) => [value, label])}
        >
          {!choices.some(({ value }) => value === typed) && <option>{typed}</option>}
        </SelectField>
      ) : (
        <TextField
          label={t('programs.value')}
          value={typed}
          onChange={(text) => onChange({ ...part, value: toLiteral(text, type, names) })}
        />
      )}
    </div>
  );
}

interface Comparison {
  variable: string;
  operator: Operator;
  value: string;
}

interface Condition {
  join: '&&' | '||';
  parts: Comparison[];
}

interface Variable {
  name: string;
  label: string;
  type: string;
  choices: { value: string; label: string }[];
}

const operators = ['==', '!=', '>', '>=', '<', '<=', 'in'] as const;
type Operator = (typeof operators)[number];

const name = String.raw`[A-Za-z]\w*(?:\.[A-Za-z]\w*)*`;
const literal = String.raw`"(?:[^"\\]|\\["\\])*"|-?\d+(?:\.\d+)?|true|false`;
const comparison = new RegExp(`^(${name})\\s*(==|!=|>=|<=|>|<)\\s*(${literal}|${name})$`);
const membership = new RegExp(`^(${literal})\\s+in\\s+(${name})$`);

/** `undefined` if the expression says more than rows can. */
export function parseCondition(expression: string): Condition | undefined {
  const tokens = expression.trim().match(/"(?:[^"\\]|\\.)*"|&&|\|\||[^"&|]+|[&|]/g) ?? [];
  const joins = new Set(tokens.filter((token) => token === '&&' || token === '||'));
  if (joins.size > 1 || tokens.length === 0) return undefined;
  const [join = '&&'] = joins;
  const texts = [''];
  for (const token of tokens) {
    if (token === join) texts.push('');
    else texts.push(texts.pop() + token);
  }
  const parts = texts.map((text) => parseComparison(text.trim()));
  const known = parts.filter((part) => part !== undefined);
  return known.length === parts.length ? { join: join as Condition['join'], parts: known } : undefined;
}

function parseComparison(text: string): Comparison | undefined {
  const [, variable, operator, value] = comparison.exec(text) ?? [];
  if (variable && operator && value !== undefined) return { variable, operator: operator as Operator, value };
  const [, item, list] = membership.exec(text) ?? [];
  return item !== undefined && list ? { variable: list, operator: 'in', value: item } : undefined;
}

export function printCondition({ join, parts }: Condition): string {
  return parts
    .map(({ variable, operator, value }) =>
      operator === 'in' ? `${value} in ${variable}` : `${variable} ${operator} ${value}`,
    )
    .join(` ${join} `);
}

const isNumeric = (type: string) => type === 'integer' || type === 'decimal';

export function toLiteral(typed: string, type: string, names: ReadonlySet<string>): string {
  const text = typed.trim();
  if (names.has(text)) return text;
  if (/^-?\d+(\.\d+)?$/.test(text) && (isNumeric(type) || type === 'any')) return text;
  if ((text === 'true' || text === 'false') && type === 'any') return text;
  return JSON.stringify(text);
}

export function fromLiteral(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
}

function listVariables(model: ProgramModel): Variable[] {
  const known = new Map<string, Variable>();
  const add = (name: unknown, type = 'any', label?: string, choices: Variable['choices'] = []) => {
    if (typeof name === 'string' && name !== '' && !known.has(name))
      known.set(name, { name, type, label: label && label !== name ? `${label} (${name})` : name, choices });
  };
  for (const { kind, raw } of model.states.values()) {
    if (kind === 'prompt' && raw.secret !== true)
      add(raw.save, String(raw.type ?? 'text'), sayIn(model, raw.text), toChoices(model, raw.options));
    if (kind === 'set') for (const name of Object.keys(toRecord(raw.values))) add(name);
    for (const name of Object.keys(toRecord(raw.take))) add(name);
    if (kind === 'action' && typeof raw.save === 'string') add(raw.save);
    for (const name of Object.keys(toRecord(raw.total === undefined ? undefined : raw.save))) add(name, 'decimal');
    for (const name of Object.keys(toRecord(toRecord(raw.from).save))) add(name);
  }
  add('today', 'date');
  add('caller.language', 'text');
  add('caller.phone', 'text');
  return [...known.values()];
}

function toChoices(model: ProgramModel, options: unknown): Variable['choices'] {
  if (!Array.isArray(options)) return [];
  return options.map(toRecord).map(({ value, text }) => ({ value: String(value ?? ''), label: sayIn(model, text) }));
}
