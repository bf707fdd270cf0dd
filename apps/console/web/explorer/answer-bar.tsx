import { useState } from 'react';
import { formatMs } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import type { Answer } from './ask-gateway.ts';
import { type SnippetLanguage, snippetLanguages, toSnippet } from './to-snippet.ts';

/** How the gateway answered, and the same request for a shell or a program. */
export function AnswerBar({ answer }: { answer: Answer }) {
  const { status, ms, cache, height, bytes, request } = answer;
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  const snippet = toSnippet(language, `${window.location.origin}/api/gateway`, request);
  return (
    <div className="answer-bar">
      <span className={status === 200 ? 'badge badge-ok' : 'badge badge-danger'}>{status}</span>
      <span className="numbers">{formatMs(ms)}</span>
      {cache && <span className="badge">{t('explorer.cache', { state: cache })}</span>}
      {height && <span className="quiet numbers">{t('explorer.height', { height })}</span>}
      <span className="quiet numbers">{t('explorer.bytes', { count: bytes })}</span>
      <select
        className="snippet-language"
        aria-label={t('explorer.snippet')}
        value={language}
        onChange={(event) => setLanguage(event.target.value as SnippetLanguage)}
      >
        {Object.entries(snippetLanguages).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <code className="snippet">{snippet}</code>
      <CopyButton text={snippet} label={t('explorer.copySnippet', { language: snippetLanguages[language] })} />
    </div>
  );
}
