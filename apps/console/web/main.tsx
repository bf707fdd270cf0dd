import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { readLocale, showLocale } from './i18n/text.ts';
import { applyTheme, readTheme } from './theme.ts';
import './styles/base.css';
import './styles/shell.css';
import './styles/controls.css';

const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: false, refetchOnWindowFocus: false, staleTime: 2_000 },
    // The services may be on this machine, which then needs no network.
    mutations: { networkMode: 'always' },
  },
});

applyTheme(readTheme());
await showLocale(readLocale());
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
