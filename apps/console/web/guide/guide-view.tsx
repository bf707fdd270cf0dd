/// <reference types="vite/client" />
import { Markdown } from '@palaver/oracles-client-sdk/markdown';
import { useQuery } from '@tanstack/react-query';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import '../styles/guide.css';

const guides = import.meta.glob<string>('../../../../docs/*.md', { query: '?raw', import: 'default' });

/** Guides come with the page: they can be read without the internet. */
export function GuideView() {
  const name = useLocation().searchParams.get('name') ?? 'console';
  const load = guides[`../../../../docs/${name}.md`];
  const { data } = useQuery({ queryKey: ['guide', name], queryFn: async () => (load ? load() : '') });
  if (data === undefined) return <p className="quiet">{t('app.loading')}</p>;
  if (data === '') return <p className="empty">{t('missing.text')}</p>;
  return (
    <article className="panel guide" lang="en" dir="ltr">
      <Markdown text={toPageLinks(data)} />
    </article>
  );
}

function toPageLinks(text: string): string {
  return text
    .replace(/^!\[[^\]]*\]\([^)]*\)$/gm, '')
    .replace(
      /\]\((?:docs\/)?([\w-]+)\.md(?:#[^)]*)?\)/g,
      (_, name: string) => `](${location.origin}/guide?name=${name})`,
    );
}
