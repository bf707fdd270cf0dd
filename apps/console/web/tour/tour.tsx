import { Button, Icon } from '../ui/controls.tsx';
import '../styles/tour.css';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { closeTour } from './tour-state.ts';

const steps = ['phone', 'programs', 'chat', 'explorer', 'operations'] as const;

/** Covers no control and takes no focus until it is used. */
export function Tour() {
  const [index, setIndex] = useState(0);
  const heading = useRef<HTMLHeadingElement>(null);
  const step = steps[index] ?? 'phone';
  const isLast = index === steps.length - 1;

  useEffect(() => {
    document.documentElement.dataset.tour = step;
    return () => {
      delete document.documentElement.dataset.tour;
    };
  }, [step]);

  function next(): void {
    const following = steps[index + 1];
    if (!following) {
      closeTour();
      return;
    }
    setIndex(index + 1);
    navigate(`/${following}`);
    heading.current?.focus();
  }
  const closeOnEscape = ({ key }: KeyboardEvent) => key === 'Escape' && closeTour();

  return (
    <aside className="tour panel" aria-label={t('tour.title')} onKeyDown={closeOnEscape}>
      <p className="quiet small">{t('tour.step', { step: index + 1, steps: steps.length })}</p>
      {step === 'phone' ? <FirstCall /> : <Icon name={step} size={40} />}
      <h2 ref={heading} tabIndex={-1}>
        {t(`app.${step}`)}
      </h2>
      <p>{t(`tour.${step}`)}</p>
      <div className="actions">
        <Button text={t(isLast ? 'tour.done' : 'tour.next')} main onClick={next} />
        {!isLast && <Button onClick={closeTour}>{t('tour.skip')}</Button>}
      </div>
    </aside>
  );
}

function FirstCall() {
  return (
    <svg className="first-call" viewBox="0 0 240 132" role="img" aria-label={t('tour.picture')}>
      <rect className="picture-body" x="74" y="4" width="92" height="124" rx="14" />
      <rect className="picture-screen" x="84" y="16" width="72" height="44" rx="5" />
      <text className="picture-code" x="120" y="43" direction="ltr">
        *1234#
      </text>
      <rect className="picture-call" x="84" y="68" width="34" height="16" rx="8" />
      <rect className="picture-key" x="122" y="68" width="34" height="16" rx="8" />
      {[92, 108].flatMap((y) =>
        [84, 109, 134].map((x) => (
          <rect key={`${x}-${y}`} className="picture-key" x={x} y={y} width="22" height="12" rx="4" />
        )),
      )}
      <path className="picture-arrow" d="M14 76H70m-10-9 11 9-11 9" />
    </svg>
  );
}
