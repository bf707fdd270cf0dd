import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { navigate } from '../location.ts';
import { Icon } from '../ui/icon.tsx';
import { FirstCall } from './first-call.tsx';
import { closeTour } from './tour-state.ts';
import '../styles/tour.css';

const steps = ['phone', 'programs', 'chat', 'explorer', 'operations'] as const;

/** A card beside the views, one step for each. It covers no control and takes no focus until it is used. */
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
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key === 'Escape') closeTour();
  };

  return (
    <aside className="tour panel" aria-label={t('tour.title')} onKeyDown={closeOnEscape}>
      <p className="quiet small">{t('tour.step', { step: index + 1, steps: steps.length })}</p>
      {step === 'phone' ? <FirstCall /> : <Icon name={step} size={40} />}
      <h2 ref={heading} tabIndex={-1}>
        {t(`app.${step}`)}
      </h2>
      <p>{t(`tour.${step}`)}</p>
      <div className="actions">
        <button type="button" className="button button-main" onClick={next}>
          {t(isLast ? 'tour.done' : 'tour.next')}
        </button>
        {!isLast && (
          <button type="button" className="button" onClick={closeTour}>
            {t('tour.skip')}
          </button>
        )}
      </div>
    </aside>
  );
}
