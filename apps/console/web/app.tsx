import { lazy, type ReactNode, Suspense } from 'react';
import { useLocation } from './location.ts';
import { keepTheme, nextTheme, useTheme } from './theme.ts';
import { ErrorBoundary } from './ui/error-boundary.tsx';
import { Icon, type IconName } from './ui/icon.tsx';
import { Link } from './ui/link.tsx';

const PhoneView = lazy(async () => ({ default: (await import('./phone/phone-view.tsx')).PhoneView }));
const ProgramsView = lazy(async () => ({ default: (await import('./programs/programs-view.tsx')).ProgramsView }));
const ChatView = lazy(async () => ({ default: (await import('./chat/chat-view.tsx')).ChatView }));
const ExplorerView = lazy(async () => ({ default: (await import('./explorer/explorer-view.tsx')).ExplorerView }));
const OperationsView = lazy(async () => ({
  default: (await import('./operations/operations-view.tsx')).OperationsView,
}));

interface View {
  path: string;
  title: string;
  icon: IconName;
  show: () => ReactNode;
}

const phone: View = { path: '/phone', title: 'Phone', icon: 'phone', show: () => <PhoneView /> };
const views: View[] = [
  phone,
  { path: '/programs', title: 'Programs', icon: 'programs', show: () => <ProgramsView /> },
  { path: '/chat', title: 'Chat', icon: 'chat', show: () => <ChatView /> },
  { path: '/explorer', title: 'Explorer', icon: 'explorer', show: () => <ExplorerView /> },
  { path: '/operations', title: 'Operations', icon: 'operations', show: () => <OperationsView /> },
];

export function App() {
  const { pathname } = useLocation();
  const view = views.find(({ path }) => path === pathname) ?? phone;
  return (
    <>
      <title>{`${view.title} · Palaver`}</title>
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <header className="top-bar">
        <Link className="brand" href="/phone">
          <Icon name="tree" size={26} />
          <span>Palaver</span>
        </Link>
        <nav className="views" aria-label="Views">
          {views.map(({ path, title, icon }) => (
            <Link key={path} href={path} aria-current={path === view.path ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{title}</span>
            </Link>
          ))}
        </nav>
        <ThemeButton />
      </header>
      <main id="main" className={`view view-${view.path.slice(1)}`} tabIndex={-1}>
        <ErrorBoundary key={view.path}>
          <Suspense fallback={<p className="quiet">Loading…</p>}>{view.show()}</Suspense>
        </ErrorBoundary>
      </main>
    </>
  );
}

function ThemeButton() {
  const theme = useTheme();
  return (
    <button
      type="button"
      className="icon-button"
      onClick={() => keepTheme(nextTheme(theme))}
      aria-label={`Theme: ${theme}. Change`}
      title={`Theme: ${theme}`}
    >
      <Icon name={theme} />
    </button>
  );
}
