import { lazy, type ReactNode, Suspense } from 'react';
import { type PlainKey, t, useLocale } from './i18n/text.ts';
import { useLocation } from './location.ts';
import { NotFound } from './not-found.tsx';
import { keepTheme, nextTheme, useTheme } from './theme.ts';
import { openTour, useTourOpen } from './tour/tour-state.ts';
import { ErrorBoundary } from './ui/error-boundary.tsx';
import { Icon, type IconName } from './ui/icon.tsx';
import { LanguageChoice } from './ui/language-choice.tsx';
import { Link } from './ui/link.tsx';

const PhoneView = lazy(async () => ({ default: (await import('./phone/phone-view.tsx')).PhoneView }));
const ProgramsView = lazy(async () => ({ default: (await import('./programs/programs-view.tsx')).ProgramsView }));
const ChatView = lazy(async () => ({ default: (await import('./chat/chat-view.tsx')).ChatView }));
const ExplorerView = lazy(async () => ({ default: (await import('./explorer/explorer-view.tsx')).ExplorerView }));
const OperationsView = lazy(async () => ({
  default: (await import('./operations/operations-view.tsx')).OperationsView,
}));

const Tour = lazy(async () => ({ default: (await import('./tour/tour.tsx')).Tour }));

interface View {
  path: string;
  title: PlainKey;
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

export function App() {
  const { pathname } = useLocation();
  useLocale();
  const view = pathname === '/' ? phone : views.find(({ path }) => path === pathname);
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
        <button
          type="button"
          className="icon-button"
          aria-label={t('tour.title')}
          title={t('tour.title')}
          onClick={openTour}
        >
          <Icon name="help" />
        </button>
        <ThemeButton />
      </header>
      <main id="main" className={`view view-${view?.path.slice(1)}`} tabIndex={-1}>
        <ErrorBoundary key={view?.path}>
          <Suspense fallback={<p className="quiet">{t('app.loading')}</p>}>
            {view ? view.show() : <NotFound path={pathname} />}
          </Suspense>
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
  return (
    <button
      type="button"
      className="icon-button"
      onClick={() => keepTheme(nextTheme(theme))}
      aria-label={label}
      title={label}
    >
      <Icon name={theme} />
    </button>
  );
}
