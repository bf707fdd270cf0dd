import { useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { InputField } from '../ui/fields.tsx';
import { Handset } from './handset.tsx';
import { SessionState } from './session-state.tsx';
import { Transcript } from './transcript.tsx';
import { usePhone } from './use-phone.ts';
import { useSessionRecord } from './use-session-record.ts';

/** A handset with its settings, what was said on it, and for operators the session behind it. */
export function PhoneStation({ name, initialNumber }: { name: string; initialNumber: string }) {
  const [phoneNumber, setPhoneNumber] = useState(initialNumber);
  const [secret, setSecret] = useState('');
  const phone = usePhone({ phoneNumber, secret });
  const record = useSessionRecord(phone);
  const heading = useId();
  return (
    <section className="station" aria-labelledby={heading}>
      <h2 id={heading} className="visually-hidden">
        {name}
      </h2>
      <div className="station-phone">
        <InputField
          label={t('phone.number', { name })}
          type="tel"
          value={phoneNumber}
          onChange={(event) => setPhoneNumber(event.target.value)}
          pattern="\+[1-9]\d{6,14}"
        />
        <Handset name={name} phone={phone} language={record.data?.debugInfo.context.language} />
        <details className="station-more">
          <summary>{t('phone.secret')}</summary>
          <InputField
            label={t('phone.secretField')}
            type="password"
            autoComplete="off"
            value={secret}
            onChange={(event) => setSecret(event.target.value)}
          />
        </details>
      </div>
      <div className="station-side">
        <Transcript name={name} phone={phone} />
        <SessionState status={phone.line.status} record={record} />
      </div>
    </section>
  );
}
