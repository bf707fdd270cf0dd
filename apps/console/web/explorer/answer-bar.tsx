import { usePageConfig } from '../api/page-config.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import type { Answer } from './ask-gateway.ts';
import { toCurl } from './to-curl.ts';

/** How the gateway answered, and the same request for a shell. */
export function AnswerBar({ answer }: { answer: Answer }) {
  const { status, ms, cache, height, bytes, request } = answer;
  const config = usePageConfig();
  const address = config.data?.services.gateway.address ?? '';
  const curl = toCurl(address, request);
  return (
    <div className="answer-bar">
      <span className={status === 200 ? 'badge badge-ok' : 'badge badge-danger'}>{status}</span>
      <span className="numbers">{ms.toFixed(ms < 10 ? 1 : 0)} ms</span>
      {cache && <span className="badge">cache {cache}</span>}
      {height && <span className="quiet numbers">height {height}</span>}
      <span className="quiet numbers">{bytes.toLocaleString('en')} bytes</span>
      <code className="curl">{curl}</code>
      <CopyButton text={curl} label="Copy curl" />
    </div>
  );
}
