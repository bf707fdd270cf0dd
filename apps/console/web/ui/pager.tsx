import { t } from '../i18n/text.ts';
import { Button } from './button.tsx';

interface PagerProps {
  label: string;
  /** Where the page is in the list. */
  place?: string;
  /** Undefined on the first page. */
  onPrevious: (() => void) | undefined;
  /** Undefined on the last page. */
  onNext: (() => void) | undefined;
}

/** Leads from page to page of a list. */
export function Pager({ label, place, onPrevious, onNext }: PagerProps) {
  return (
    <nav className="pager" aria-label={label}>
      <Button disabled={!onPrevious} onClick={onPrevious}>
        {t('app.previous')}
      </Button>
      {place && <span className="numbers">{place}</span>}
      <Button disabled={!onNext} onClick={onNext}>
        {t('app.next')}
      </Button>
    </nav>
  );
}
