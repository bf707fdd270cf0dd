import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Fault } from '../ui/fault.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Link } from '../ui/link.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { useAnswer } from './ask-gateway.ts';
import { findTarget } from './find-target.ts';
import { encodePath, findPath, type Route } from './routes.ts';

const records = {
  claim: [{ title: 'explorer.claim', path: '/claims/claim/{id}' }],
  account: [
    { title: 'explorer.balances', path: '/bank/v1beta1/balances/{address}' },
    { title: 'explorer.account', path: '/auth/v1beta1/accounts/{address}' },
  ],
  tx: [{ title: 'explorer.tx', path: '/tx/v1beta1/txs/{hash}' }],
  block: [{ title: 'explorer.block', path: '/tendermint/v1beta1/blocks/{height}' }],
} as const;

type RecordName = keyof typeof records;
export const recordNames = Object.keys(records) as RecordName[];

const maxDepth = 4;
const maxFacts = 60;

/** A claim, an account, a transaction or a block as the node returns it, with everything that has a page of its own as a link. */
export function RecordPage({ routes, name }: { routes: Route[]; name: RecordName }) {
  const { searchParams } = useLocation();
  const id = searchParams.get('id') ?? '';
  return (
    <article className="panel reading">
      <header>
        <p className="quiet small">{t(`explorer.${name}`)}</p>
        <h2 className="reading-title">
          <code className="break">{id}</code>
        </h2>
        <CopyButton text={id} label={t('explorer.copyId')} />
      </header>
      {records[name].map(({ title, path }) => (
        <Part key={path} title={t(title)} target={toTarget(findPath(routes, path), id)} />
      ))}
    </article>
  );
}

const toTarget = (path: string | undefined, id: string) => path?.replace(/\{[^}]*\}$/, () => encodePath(id));

function Part({ title, target }: { title: string; target: string | undefined }) {
  const answer = useAnswer(target);
  if (!target) return <p className="empty">{t('explorer.noRouteFor', { what: title })}</p>;
  if (answer.error) return <Fault error={answer.error} />;
  if (!answer.data) return <p className="quiet">{t('explorer.reading')}</p>;
  return (
    <section>
      <h3>{title}</h3>
      <dl className="facts">
        {listFacts(answer.data.body)
          .slice(0, maxFacts)
          .map(([path, value]) => (
            <div key={path} className="facts-row">
              <dt>
                <code>{path}</code>
              </dt>
              <dd>
                <Value text={value} />
              </dd>
            </div>
          ))}
      </dl>
      <AnswerBar answer={answer.data} />
      <details>
        <summary>{t('explorer.wholeAnswer')}</summary>
        <JsonView value={answer.data.body} label={t('explorer.wholeAnswer')} />
      </details>
    </section>
  );
}

/** An identifier leads to its page; plain numbers are mostly amounts. */
function Value({ text }: { text: string }) {
  const target = /^\d+$/.test(text) ? undefined : findTarget(text);
  return target ? <Link href={target}>{text}</Link> : <bdi className="break">{text}</bdi>;
}

/** The values of an answer by their paths; what is deep inside is in the whole answer. */
function listFacts(value: unknown, path: string[] = []): [string, string][] {
  if (value === null || value === '' || value === undefined) return [];
  if (typeof value !== 'object') return [[path.join('.'), String(value)]];
  if (path.length > maxDepth) return [];
  const entries = Object.entries(value);
  const isWrapped = path.length === 0 && entries.length === 1;
  return entries.flatMap(([key, inner]) => listFacts(inner, isWrapped ? [] : [...path, key]));
}
