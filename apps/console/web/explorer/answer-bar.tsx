import { useState } from 'react';
import { formatMs, t } from '../i18n/text.ts';
import { JsonView } from '../ui/content.tsx';
import { CopyButton, Options } from '../ui/controls.tsx';
import type { Answer, RequestParts } from './gateway.ts';

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
        <Options of={Object.entries(snippetLanguages)} />
      </select>
      <code className="snippet">{snippet}</code>
      <CopyButton text={snippet} label={t('explorer.copySnippet', { language: snippetLanguages[language] })} />
    </div>
  );
}

export function WholeAnswer({ answer }: { answer: Answer }) {
  return (
    <>
      <AnswerBar answer={answer} />
      <details>
        <summary>{t('explorer.wholeAnswer')}</summary>
        <JsonView value={answer.body} label={t('explorer.wholeAnswer')} />
      </details>
    </>
  );
}

const snippetLanguages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const;
type SnippetLanguage = keyof typeof snippetLanguages;

export function toSnippet(language: SnippetLanguage, address: string, { target, headers }: RequestParts): string {
  const url = address + target;
  const entries = Object.entries(headers);
  if (language === 'curl')
    return ['curl', quote(url), ...entries.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)].join(' ');
  const json = (value: unknown) => JSON.stringify(value);
  if (language === 'typescript') {
    const options = entries.length > 0 ? `, { headers: ${json(headers)} }` : '';
    return `const reply = await fetch(${json(url)}${options});\nif (!reply.ok) throw new Error(await reply.text());\nconst answer = await reply.json();`;
  }
  const options = entries.length > 0 ? `, headers=${json(headers)}` : '';
  return `import json\nfrom urllib.request import Request, urlopen\n\nwith urlopen(Request(${json(url)}${options})) as reply:\n    answer = json.load(reply)`;
}

const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
