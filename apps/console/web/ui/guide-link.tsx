import { t } from '../i18n/text.ts';
import { Link } from './link.tsx';

/** Leads to the guide of what is shown. */
export function GuideLink({
  name,
}: {
  name: 'agent-api' | 'console' | 'data' | 'gateway' | 'money' | 'ussd' | 'ussd-menus';
}) {
  return <Link href={`/guide?name=${name}`}>{t('app.guide')}</Link>;
}
