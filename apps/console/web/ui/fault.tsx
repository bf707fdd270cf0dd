import { ServiceFault } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';

/** Why something did not work. Services answer in English, whatever the language of the page. */
export function Fault({ error }: { error: Error }) {
  return (
    <p className="notice notice-danger" role="alert" dir="auto" lang={error instanceof ServiceFault ? 'en' : undefined}>
      {error.message}
    </p>
  );
}

/** Stands for a part without data: why it has none, or that it is being loaded. */
export function Waiting({ error }: { error?: Error | null }) {
  return error ? <Fault error={error} /> : <p className="quiet">{t('app.loading')}</p>;
}
