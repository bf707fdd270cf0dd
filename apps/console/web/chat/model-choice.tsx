import { useModels } from '@palaver/oracles-client-sdk';
import { t } from '../i18n/text.ts';

interface ModelChoiceProps {
  oracleDid: string;
  value: string | undefined;
  onChange(model: string): void;
}

/** The models that a message may choose from, where there are several. */
export function ModelChoice({ oracleDid, value, onChange }: ModelChoiceProps) {
  const { models, defaultModelId } = useModels(oracleDid);
  if (models.length < 2) return null;
  return (
    <select
      aria-label={t('chat.model')}
      value={value ?? defaultModelId}
      onChange={(event) => onChange(event.target.value)}
    >
      {models.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
