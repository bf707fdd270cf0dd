import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { SelectField } from '../ui/fields.tsx';
import type { Trial } from './program-api.ts';
import { TryPhone } from './try-phone.tsx';
import type { EditedDraft } from './use-draft.ts';

interface TryPanelProps {
  name: string;
  draft: EditedDraft;
  languages: string[];
  onState(state: string): void;
}

type Adapter = NonNullable<Trial['adapter']>;

const adapters: Record<Adapter, string> = { 'africas-talking': 'Africa’s Talking', arkesel: 'Arkesel' };

/** One phone or two that play the draft through the telecom gateway of choice. */
export function TryPanel({ languages, ...rest }: TryPanelProps) {
  const [language, setLanguage] = useState(languages[0] ?? 'en');
  const [adapter, setAdapter] = useState<Adapter>('africas-talking');
  const [hasSecond, setSecond] = useState(false);
  const shared = { ...rest, language, adapter };
  return (
    <div className="try-panel">
      <div className="try-options">
        <SelectField label={t('app.language')} value={language} onChange={(event) => setLanguage(event.target.value)}>
          {languages.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </SelectField>
        <SelectField
          label={t('try.adapter')}
          value={adapter}
          onChange={(event) => setAdapter(event.target.value as Adapter)}
        >
          {Object.entries(adapters).map(([key, title]) => (
            <option key={key} value={key}>
              {title}
            </option>
          ))}
        </SelectField>
        <Button aria-pressed={hasSecond} onClick={() => setSecond(!hasSecond)}>
          {t(hasSecond ? 'try.putAway' : 'try.second')}
        </Button>
      </div>
      <TryPhone key={`1 ${language}`} {...shared} title={t('try.first')} phoneNumber="+254700000001" />
      {hasSecond && <TryPhone key={`2 ${language}`} {...shared} title={t('try.second')} phoneNumber="+254700000002" />}
    </div>
  );
}
