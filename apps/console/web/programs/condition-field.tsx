import { useMemo } from 'react';
import { t } from '../i18n/text.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { SelectField } from '../ui/fields.tsx';
import {
  type Comparison,
  type Condition,
  fromLiteral,
  listVariables,
  type Operator,
  operators,
  parseCondition,
  printCondition,
  toLiteral,
  type Variable,
} from './condition.ts';
import { TextField } from './editor-fields.tsx';
import type { ProgramModel } from './read-program.ts';

interface ConditionFieldProps {
  model: ProgramModel;
  label: string;
  value: unknown;
  onChange(expression: string): void;
  /** Values that only this condition can compare, first. */
  own?: Variable[];
}

const none: Condition = { join: '&&', parts: [] };
const noVariables: Variable[] = [];

/** A condition as rows of question, comparison and value, and as the expression that they make, which may be typed. */
export function ConditionField({ model, label, value, onChange, own = noVariables }: ConditionFieldProps) {
  const expression = String(value ?? '').trim();
  const variables = useMemo(() => [...own, ...listVariables(model)], [own, model]);
  // `true` is what a new condition holds.
  const condition = expression === '' || expression === 'true' ? none : parseCondition(expression);
  const { parts, join } = condition ?? none;
  const change = (next: Comparison[], by = join) => onChange(printCondition({ join: by, parts: next }));
  const [first] = variables;
  return (
    <fieldset className="condition">
      <legend>{label}</legend>
      {parts.map((part, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a comparison is known by its place
        <div key={i} className="logic-entry">
          <Row variables={variables} part={part} onChange={(next) => change(parts.with(i, next))} />
          <IconButton
            icon="close"
            size={16}
            label={t('programs.removeEntry', { name: printCondition({ join, parts: [part] }) })}
            onClick={() => change(parts.toSpliced(i, 1))}
          />
        </div>
      ))}
      <div className="field-row">
        {parts.length > 1 && (
          <SelectField
            label={t('programs.join')}
            value={join}
            onChange={({ target }) => change(parts, target.value as Condition['join'])}
          >
            <option value="&&">{t('programs.joinAll')}</option>
            <option value="||">{t('programs.joinAny')}</option>
          </SelectField>
        )}
        {condition && first && (
          <Button
            small
            icon="plus"
            aria-label={`${t('programs.addComparison')}: ${label}`}
            onClick={() => change([...parts, toComparison(first)])}
          >
            {t('programs.addComparison')}
          </Button>
        )}
      </div>
      <TextField label={t('programs.expressionOf', { name: label })} value={value} onChange={onChange} />
    </fieldset>
  );
}

/** A comparison that holds for something, for the row to be changed. */
function toComparison({ name, type, choices }: Variable): Comparison {
  const numeric = type === 'integer' || type === 'decimal';
  const value = numeric ? '0' : JSON.stringify(choices[0]?.value ?? '');
  return { variable: name, operator: type === 'choices' ? 'in' : numeric ? '>=' : '==', value };
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
        onChange={({ target }) => {
          const next = variables.find(({ name }) => name === target.value);
          if (next) onChange(toComparison(next));
        }}
      >
        {!known && <option>{part.variable}</option>}
        {variables.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </SelectField>
      <SelectField
        label={t('programs.operator')}
        value={part.operator}
        onChange={({ target }) => onChange({ ...part, operator: target.value as Operator })}
      >
        {offered.map((operator) => (
          <option key={operator} value={operator}>
            {t(`programs.op${operator}`)}
          </option>
        ))}
      </SelectField>
      {choices.length > 0 ? (
        <SelectField
          label={t('programs.value')}
          value={typed}
          onChange={({ target }) => onChange({ ...part, value: JSON.stringify(target.value) })}
        >
          {!choices.some(({ value }) => value === typed) && <option>{typed}</option>}
          {choices.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
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
