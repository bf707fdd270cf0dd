import { formatCount, formatNumber, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Facts, Fault, Link } from '../ui/content.tsx';
import { Button, InputField } from '../ui/controls.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { encodePath, useAnswer, usePaths } from './gateway.ts';
import { type Claim, shorten, type Token, toEntityPath } from './protocol.ts';

/** The protocol has no list of minters; those who evaluated claims are offered, since tokens are minted for outcomes. */
export function TokensPage() {
  const { searchParams } = useLocation();
  const [minterPath, paramsPath, claimsPath] = usePaths('/token/minter/{minter}', '/token/params', '/claims/claims');
  const claims = useAnswer<{ claims?: Claim[] }>(claimsPath && `${claimsPath}?pagination.limit=500`);
  const evaluators = listEvaluators(claims.data?.body.claims ?? []);
  const minter = searchParams.get('minter') ?? evaluators[0];
  const target = minterPath && minter && minterPath.replace('{minter}', encodePath(minter));
  const tokens = useAnswer<{ tokenDocs?: Token[] }>(target);
  const params = useAnswer<{ params?: { ixo1155_contract_code?: string } }>(paramsPath);
  if (!minterPath) return <p className="empty">{t('explorer.noTokenRoutes')}</p>;
  const list = tokens.data?.body.tokenDocs ?? [];
  const code = params.data?.body.params;
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
          <Button text={t('explorer.showTokens')} type="submit" main />
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
