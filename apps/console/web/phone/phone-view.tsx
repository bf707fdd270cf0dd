import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { GuideLink } from '../ui/guide-link.tsx';
import { Icon } from '../ui/icon.tsx';
import { PhoneStation } from './phone-station.tsx';
import '../styles/phone.css';

/** One feature phone, or two beside each other, on the USSD gateway. */
export function PhoneView() {
  const [hasSecond, setSecond] = useState(false);
  return (
    <>
      <div className="view-head">
        <div>
          <h1>{t('app.phone')}</h1>
          <p>
            {t('phone.intro')} <GuideLink name="ussd" />
          </p>
        </div>
        <Button aria-pressed={hasSecond} onClick={() => setSecond(!hasSecond)}>
          <Icon name={hasSecond ? 'close' : 'plus'} size={18} />
          {t(hasSecond ? 'phone.one' : 'phone.second')}
        </Button>
      </div>
      <div className={hasSecond ? 'stations stations-two' : 'stations'}>
        <PhoneStation name={t('phone.name', { letter: 'A' })} initialNumber="+254700000001" />
        {hasSecond && <PhoneStation name={t('phone.name', { letter: 'B' })} initialNumber="+254700000002" />}
      </div>
    </>
  );
}
