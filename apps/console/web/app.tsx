import { Component, lazy, type ReactNode, Suspense } from 'react';
import { addProgramTexts, keepLocale, type Locale, locales, type MessageKey, t, useLocale } from './i18n/text.ts';
import { useLocation } from './location.ts';
import { keepTheme, nextTheme, useTheme } from './theme.ts';
import { openTour, useTourOpen } from './tour/tour-state.ts';
import { Link, Waiting } from './ui/content.tsx';
import { Button, Icon, IconButton, type IconName } from './ui/controls.tsx';

const PhoneView = lazy(async () => ({ default: (await import('./phone/phone-view.tsx')).PhoneView }));
const ProgramsView = lazy(async () => {
  const [{ ProgramsView }] = await Promise.all([import('./programs/programs-view.tsx'), addProgramTexts()]);
  return { default: ProgramsView };
});
const ChatView = lazy(async () => ({ default: (await import('./chat/chat-view.tsx')).ChatView }));
const ExplorerView = lazy(async () => ({ default: (await import('./explorer/explorer-view.tsx')).ExplorerView }));
const OperationsView = lazy(async () => ({
  default: (await import('./operations/operations-view.tsx')).OperationsView,
}));

const GuideView = lazy(async () => ({ default: (await import('./guide/guide-view.tsx')).GuideView }));

const Tour = lazy(async () => ({ default: (await import('./tour/tour.tsx')).Tour }));

interface View {
  path: string;
  title: MessageKey;
  icon: IconName;
  show: () => ReactNode;
}

const phone: View = { path: '/phone', title: 'app.phone', icon: 'phone', show: () => <PhoneView /> };
const views: View[] = [
  phone,
  { path: '/programs', title: 'app.programs', icon: 'programs', show: () => <ProgramsView /> },
  { path: '/chat', title: 'app.chat', icon: 'chat', show: () => <ChatView /> },
  { path: '/explorer', title: 'app.explorer', icon: 'explorer', show: () => <ExplorerView /> },
  { path: '/operations', title: 'app.operations', icon: 'operations', show: () => <OperationsView /> },
];

const guide: Pick<View, 'path' | 'title' | 'show'> = { path: '/guide', title: 'app.guide', show: () => <GuideView /> };

export function App() {
  const { pathname } = useLocation();
  useLocale();
  const view = pathname === '/' ? phone : [...views, guide].find(({ path }) => path === pathname);
  const isTourOpen = useTourOpen();
  return (
    <>
      <title>{`${t(view?.title ?? 'missing.title')} · Palaver`}</title>
      <a className="skip-link" href="#main">
        {t('app.skip')}
      </a>
      <header className="top-bar">
        <Link className="brand" href="/phone">
          <Icon name="tree" size={26} />
          <span>Palaver</span>
        </Link>
        <nav className="views" aria-label={t('app.views')}>
          {views.map(({ path, title, icon }) => (
            <Link key={path} href={path} aria-current={path === view?.path ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{t(title)}</span>
            </Link>
          ))}
        </nav>
        <LanguageChoice />
        <IconButton icon="help" label={t('tour.title')} title={t('tour.title')} onClick={openTour} />
        <ThemeButton />
      </header>
      <main id="main" className={`view view-${view?.path.slice(1)}`} tabIndex={-1}>
        <ErrorBoundary key={view?.path}>
          <Suspense fallback={<Waiting />}>{view ? view.show() : <NotFound path={pathname} />}</Suspense>
        </ErrorBoundary>
      </main>
      {isTourOpen && (
        <Suspense>
          <Tour />
        </Suspense>
      )}
    </>
  );
}

function ThemeButton() {
  const theme = useTheme();
  const label = t('app.theme', { theme: t(`theme.${theme}`) });
  return <IconButton icon={theme} label={label} onClick={() => keepTheme(nextTheme(theme))} title={label} />;
}

function NotFound({ path }: { path: string }) {
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

class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="notice notice-danger" role="alert">
        <p>{t('app.stopped', { message: this.state.error.message })}</p>
        <Button onClick={() => this.setState({ error: undefined })}>{t('app.reopen')}</Button>
      </div>
    );
  }
}

function LanguageChoice() {
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
