import { formatCount, formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { InputField } from '../ui/fields.tsx';
import { Link } from '../ui/link.tsx';
import { Facts } from '../ui/panel.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { encodePath, findPath, type Route, useAnswer } from './gateway.ts';
import { type Claim, shorten, type Token, toEntityPath } from './protocol.ts';

/** The protocol has no list of minters; those who evaluated claims are offered, since tokens are minted for outcomes. */
export function TokensPage({ routes }: { routes: Route[] }) {
  const { searchParams } = useLocation();
  const minterPath = findPath(routes, '/token/minter/{minter}');
  const paramsPath = findPath(routes, '/token/params');
  const claimsPath = findPath(routes, '/claims/claims');
  const claims = useAnswer(claimsPath && `${claimsPath}?pagination.limit=500`);
  const evaluators = listEvaluators((claims.data?.body as { claims?: Claim[] } | undefined)?.claims ?? []);
  const minter = searchParams.get('minter') ?? evaluators[0];
  const tokens = useAnswer(minterPath && minter && minterPath.replace('{minter}', encodePath(minter)));
  const params = useAnswer(paramsPath);
  if (!minterPath) return <p className="empty">{t('explorer.noTokenRoutes')}</p>;
  const list = (tokens.data?.body as { tokenDocs?: Token[] } | undefined)?.tokenDocs ?? [];
  const code = (params.data?.body as { params?: { ixo1155_contract_code?: string } } | undefined)?.params;
  return (
    <div className="stack">
      <section className="panel" aria-label={t('explorer.minter')}>
        <form
          className="field-row"
          onSubmit={(event) => {
            event.preventDefault();
            const typed = String(new FormData(event.currentTarget).get('minter') ?? '').trim();
            if (typed) navigate(`/explorer?page=tokens&minter=${encodeURIComponent(typed)}`);
          }}
        >
          <InputField
            label={t('explorer.minterAddress')}
            key={minter}
            name="minter"
            defaultValue={minter}
            list="minters"
            spellCheck={false}
            autoComplete="off"
          />
          <datalist id="minters">
            {evaluators.map((address) => (
              <option key={address} value={address} />
            ))}
          </datalist>
          <Button type="submit" main>
            {t('explorer.showTokens')}
          </Button>
        </form>
        {code && (
          <p className="quiet small">{t('explorer.contractCode', { code: code.ixo1155_contract_code ?? '–' })}</p>
        )}
      </section>
      {tokens.error && <Fault error={tokens.error} />}
      {tokens.data && list.length === 0 && <p className="empty">{t('explorer.noTokens')}</p>}
      {list.map((token) => (
        <TokenArticle key={token.contract_address} token={token} />
      ))}
      {tokens.data && <AnswerBar answer={tokens.data} />}
    </div>
  );
}

function listEvaluators(claims: Claim[]): string[] {
  return [...new Set(claims.flatMap(({ evaluation }) => evaluation?.agent_address ?? []))].sort();
}

function TokenArticle({ token }: { token: Token }) {
  const { name, description, supply, cap, paused, stopped, retired = [], cancelled = [] } = token;
  const gone = [
    ...retired.map((entry) => ({ ...entry, how: 'explorer.retiredFor' as const })),
    ...cancelled.map((entry) => ({ ...entry, how: 'explorer.cancelledFor' as const })),
  ];
  const figures = [
    ['supply', formatCount(supply)],
    ['cap', cap === '0' ? t('explorer.noCap') : formatCount(cap)],
    ['retired', sum(retired)],
    ['cancelled', sum(cancelled)],
  ] as const;
  const contract = [t('explorer.contract'), <code key="contract">{token.contract_address}</code>] as const;
  return (
    <article className="panel reading">
      <header>
        <h2 className="reading-title">{name}</h2>
        <p>{description}</p>
        <p className="badges">
          <span className={stopped || paused ? 'badge badge-warn' : 'badge badge-ok'}>
            {t(stopped ? 'explorer.stopped' : paused ? 'explorer.PAUSED' : 'explorer.minting')}
          </span>
          <span className="badge">{token.type}</span>
        </p>
      </header>
      <dl className="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{t(`explorer.${name}`)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {gone.length > 0 && (
        <ul className="link-list">
          {gone.map(({ id, amount, reason, how }) => (
            <li key={`${how}${id}`}>{t(how, { amount: formatCount(amount), reason })}</li>
          ))}
        </ul>
      )}
      <Facts rows={token.class ? [contract, [t('explorer.class'), toEntityLink(token.class)]] : [contract]} />
    </article>
  );
}

const toEntityLink = (id: string) => <Link href={toEntityPath(id)}>{shorten(id)}</Link>;

function sum(entries: { amount: string }[]): string {
  return formatNumber(entries.reduce((total, { amount }) => total + Number(amount), 0));
}
