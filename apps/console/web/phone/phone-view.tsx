import { useState } from 'react';
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
          <h1>Phone</h1>
          <p>Dial a service code as a feature phone would, 182 characters at a time.</p>
        </div>
        <button type="button" className="button" aria-pressed={hasSecond} onClick={() => setSecond(!hasSecond)}>
          <Icon name={hasSecond ? 'close' : 'plus'} size={18} />
          {hasSecond ? 'One phone' : 'Second phone'}
        </button>
      </div>
      <div className={hasSecond ? 'stations stations-two' : 'stations'}>
        <PhoneStation name="Phone A" initialNumber="+254700000001" />
        {hasSecond && <PhoneStation name="Phone B" initialNumber="+254700000002" />}
      </div>
    </>
  );
}
