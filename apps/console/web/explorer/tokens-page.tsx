import { navigate, useLocation } from '../location.ts';
import { Link } from '../ui/link.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { useAnswer } from './ask-gateway.ts';
import { type Claim, shorten, type Token, toCount } from './protocol.ts';
import { encodePath, findPath, type Route } from './routes.ts';

/**
 * The tokens of a minter. The protocol has no list of minters; those who evaluated claims are offered, since outcomes are what
 * tokens are minted for.
 */
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
  if (!minterPath) return <p className="empty">This gateway serves no token routes.</p>;
  const list = (tokens.data?.body as { tokenDocs?: Token[] } | undefined)?.tokenDocs ?? [];
  const code = (params.data?.body as { params?: { ixo1155_contract_code?: string } } | undefined)?.params;
  return (
    <div className="stack">
      <section className="panel" aria-label="Minter">
        <form
          className="field-row"
          onSubmit={(event) => {
            event.preventDefault();
            const typed = String(new FormData(event.currentTarget).get('minter') ?? '').trim();
            if (typed) navigate(`/explorer?page=tokens&minter=${encodeURIComponent(typed)}`);
          }}
        >
          <label className="field">
            <span>Minter’s address</span>
            <input
              key={minter}
              name="minter"
              defaultValue={minter}
              list="minters"
              spellCheck={false}
              autoComplete="off"
            />
          </label>
          <datalist id="minters">
            {evaluators.map((address) => (
              <option key={address} value={address} />
            ))}
          </datalist>
          <button type="submit" className="button button-main">
            Show its tokens
          </button>
        </form>
        {code && <p className="quiet small">Tokens follow contract code {code.ixo1155_contract_code} (ixo1155).</p>}
      </section>
      {tokens.error && <p className="notice notice-danger">{tokens.error.message}</p>}
      {tokens.data && list.length === 0 && <p className="empty">This address has minted nothing.</p>}
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
    ...retired.map((entry) => ({ ...entry, how: 'retired' })),
    ...cancelled.map((entry) => ({ ...entry, how: 'cancelled' })),
  ];
  return (
    <article className="panel reading">
      <header>
        <h2 className="reading-title">{name}</h2>
        <p>{description}</p>
        <p className="badges">
          <span className={stopped || paused ? 'badge badge-warn' : 'badge badge-ok'}>
            {stopped ? 'stopped' : paused ? 'paused' : 'minting'}
          </span>
          <span className="badge">{token.type}</span>
        </p>
      </header>
      <dl className="figures">
        <div>
          <dt>Supply</dt>
          <dd>{toCount(supply)}</dd>
        </div>
        <div>
          <dt>Cap</dt>
          <dd>{cap === '0' ? 'none' : toCount(cap)}</dd>
        </div>
        <div>
          <dt>Retired</dt>
          <dd>{sum(retired)}</dd>
        </div>
        <div>
          <dt>Cancelled</dt>
          <dd>{sum(cancelled)}</dd>
        </div>
      </dl>
      {gone.length > 0 && (
        <ul className="link-list">
          {gone.map(({ id, amount, reason, how }) => (
            <li key={`${how}${id}`}>
              {toCount(amount)} {how}: {reason}
            </li>
          ))}
        </ul>
      )}
      <dl className="facts">
        <div className="facts-row">
          <dt>Contract</dt>
          <dd>
            <code>{token.contract_address}</code>
          </dd>
        </div>
        {token.class && (
          <div className="facts-row">
            <dt>Class</dt>
            <dd>
              <Link href={`/explorer?page=entities&id=${encodeURIComponent(token.class)}`}>{shorten(token.class)}</Link>
            </dd>
          </div>
        )}
      </dl>
    </article>
  );
}

function sum(entries: { amount: string }[]): string {
  return entries.reduce((total, { amount }) => total + Number(amount), 0).toLocaleString('en');
}
