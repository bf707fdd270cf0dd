import { t } from './i18n/text.ts';
import { Link } from './ui/link.tsx';

/** Shown for unknown addresses. */
export function NotFound({ path }: { path: string }) {
  return (
    <section className="not-found">
      <p className="not-found-number" aria-hidden="true">
        404
      </p>
      <h1>{t('missing.title')}</h1>
      <p className="quiet">{t('missing.text')}</p>
      <p>
        <code className="break">{path}</code>
      </p>
      <Link className="button button-main" href="/phone">
        {t('missing.home')}
      </Link>
    </section>
  );
}
