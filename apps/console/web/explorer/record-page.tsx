import { type MessageKey, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Fault } from '../ui/fault.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Link } from '../ui/link.tsx';
import { Pager } from '../ui/pager.tsx';
import { Facts } from '../ui/panel.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { useAnswer } from './ask-gateway.ts';
import { Transactions } from './chain-pages.tsx';
import { findTarget } from './find-target.ts';
import { encodePath, findPath, type Route } from './routes.ts';

const records = {
  claim: [
    { title: 'explorer.claim', path: '/claims/claim/{id}' },
    { title: 'explorer.disputes', path: '/claims/disputes-for-subject/{subjectId}' },
  ],
  dispute: [{ title: 'explorer.dispute', path: '/claims/dispute/{proof}' }],
  account: [
    { title: 'explorer.balances', path: '/bank/v1beta1/balances/{address}' },
    { title: 'explorer.account', path: '/auth/v1beta1/accounts/{address}' },
  ],
  tx: [{ title: 'explorer.tx', path: '/tx/v1beta1/txs/{hash}' }],
  block: [{ title: 'explorer.block', path: '/tendermint/v1beta1/blocks/{height}' }],
} as const;

type RecordName = keyof typeof records;

/** What of the chain's transactions belongs to a record. */
const activities: Partial<Record<RecordName, { title: MessageKey; search(id: string): string }[]>> = {
  account: [
    { title: 'explorer.sent', search: (id) => `message.sender='${id}'` },
    { title: 'explorer.received', search: (id) => `transfer.recipient='${id}'` },
  ],
  block: [{ title: 'explorer.transactions', search: (id) => `tx.height=${id}` }],
};

export const recordNames = Object.keys(records) as RecordName[];

const maxDepth = 4;
const maxFacts = 60;

/** A claim, an account, a transaction or a block as the node returns it, with everything that has a page of its own as a link. */
export function RecordPage({ routes, name }: { routes: Route[]; name: RecordName }) {
  const { searchParams } = useLocation();
  const id = searchParams.get('id') ?? '';
  const open = (height: number) => navigate(`/explorer?page=block&id=${height}`);
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
      {name === 'block' && (
        <Pager
          label={t('explorer.block')}
          onPrevious={Number(id) > 1 ? () => open(Number(id) - 1) : undefined}
          onNext={() => open(Number(id) + 1)}
        />
      )}
      {activities[name]?.map(({ title, search }) => (
        <Transactions key={title} routes={routes} title={t(title)} search={search(id)} />
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
      <Facts
        rows={listFacts(answer.data.body)
          .slice(0, maxFacts)
          .map(([path, value]) => [path, <Value key={path} path={path} text={value} />])}
      />
      <AnswerBar answer={answer.data} />
      <details>
        <summary>{t('explorer.wholeAnswer')}</summary>
        <JsonView value={answer.data.body} label={t('explorer.wholeAnswer')} />
      </details>
    </section>
  );
}

/** An identifier leads to its page; plain numbers are mostly amounts, and the proof of an evaluation is kept elsewhere. */
function Value({ path, text }: { path: string; text: string }) {
  const isPlain = /^\d+$/.test(text) || path.endsWith('verification_proof');
  const target = path.endsWith('data.proof')
    ? `/explorer?page=dispute&id=${encodeURIComponent(text)}`
    : isPlain
      ? undefined
      : findTarget(text);
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
