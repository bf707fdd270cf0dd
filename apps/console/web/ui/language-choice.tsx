import { keepLocale, type Locale, locales, t, useLocale } from '../i18n/text.ts';

export function LanguageChoice() {
  const locale = useLocale();
  return (
    <select
      className="language"
      aria-label={t('app.language')}
      value={locale}
      onChange={(event) => void keepLocale(event.target.value as Locale).catch(() => {})}
    >
      {Object.entries(locales).map(([tag, name]) => (
        <option key={tag} value={tag} lang={tag}>
          {name}
        </option>
      ))}
    </select>
  );
}
