import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { useOperatorToken } from '../api/operator-token.ts';
import { ScrollRegion } from '../ui/scroll-region.tsx';
import { CallerHelp } from './caller-help.tsx';
import { type Caller, type CallerKey, callersApi } from './callers-api.ts';
import { words } from './words.ts';

interface CallerViewProps {
  callerKey: CallerKey;
  isAdmin: boolean;
  onClose(): void;
}

/** One caller: the account, what was called, what is kept. */
export function CallerView({ callerKey, isAdmin, onClose }: CallerViewProps) {
  const token = useOperatorToken();
  const queries = useQueryClient();
  const queryKey = ['caller', callerKey, token];
  const query = useQuery({ queryKey, gcTime: 0, queryFn: () => callersApi.find(callerKey) });
  const [number, setNumber] = useState('phoneNumber' in callerKey ? callerKey.phoneNumber : '');
  const [fault, setFault] = useState('');
  if (query.error) return <p className="notice notice-danger">{query.error.message}</p>;
  if (!query.data) return <p className="quiet">{words.loading}</p>;
  const caller = query.data;
  const reveal = () =>
    callersApi.reveal(caller.caller).then(
      ({ phoneNumber }) => setNumber(phoneNumber),
      (error: Error) => setFault(error.message),
    );
  return (
    <>
      <div className="caller-head">
        <h2 className="numbers">{number || caller.maskedNumber}</h2>
        {!number && (
          <button type="button" className="button" title={words.revealNote} onClick={() => void reveal()}>
            {words.reveal}
          </button>
        )}
        <button type="button" className="button" onClick={onClose}>
          {words.close}
        </button>
      </div>
      {fault && (
        <p className="notice notice-danger" role="alert">
          {fault}
        </p>
      )}
      <div className="caller-parts">
        <Account caller={caller} />
        <CallerHelp
          number={number}
          hasAccount={caller.account !== null}
          isAdmin={isAdmin}
          onChanged={() => void queries.invalidateQueries({ queryKey })}
          onErased={() => queries.removeQueries({ queryKey: ['callers'] })}
        />
      </div>
      <Sessions sessions={caller.sessions} />
      <Kept results={caller.results} />
    </>
  );
}

function Account({ caller: { account, language } }: { caller: Caller }) {
  const facts = account
    ? [
        [words.name, account.name],
        [words.since, account.createdAt.slice(0, 10)],
        [words.lock, words.locks[account.lock]],
        [words.failed, String(account.failedPins)],
        [words.address, `${account.address ?? words.noAddress}${account.hasWallet ? ` (${words.wallet})` : ''}`],
      ]
    : [];
  return (
    <section className="panel" aria-labelledby="caller-account">
      <h2 id="caller-account">{words.account}</h2>
      {!account && <p className="empty">{words.noAccount}</p>}
      <dl className="facts">
        {[...facts, ...(language ? [[words.language, language]] : [])].map(([title, value]) => (
          <div key={title} className="facts-row">
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Sessions({ sessions }: Pick<Caller, 'sessions'>) {
  return (
    <TablePanel
      id="caller-sessions"
      title={words.sessions}
      empty={words.noSessions}
      heads={[words.seen, words.code, words.program, words.state, words.status]}
    >
      {sessions.map(({ id, seenAt, serviceCode, program, state, status }) => (
        <tr key={id}>
          <td className="numbers">{toTime(seenAt)}</td>
          <td className="numbers">{serviceCode}</td>
          <td>{program}</td>
          <td>{state}</td>
          <td>
            <span className={status === 'active' ? 'badge badge-ok' : 'badge'}>{words.statuses[status]}</span>
          </td>
        </tr>
      ))}
    </TablePanel>
  );
}

function Kept({ results }: Pick<Caller, 'results'>) {
  return (
    <TablePanel
      id="caller-results"
      title={words.results}
      empty={words.noResults}
      heads={[words.time, words.kind, words.program, words.answers, words.status]}
    >
      {results.map(({ id, source, name, program, createdAt, values, delivery }) => (
        <tr key={`${source} ${id}`}>
          <td className="numbers">{toTime(createdAt)}</td>
          <td>{source === 'messages' ? words.sources.messages : `${words.sources[source]} ${name}`}</td>
          <td>{program}</td>
          <td className="break">
            {Object.entries(values)
              .map(([question, answer]) => `${question}: ${answer}`)
              .join(', ')}
          </td>
          <td>
            {delivery && words.deliveries[delivery.status]}
            {delivery?.fault && delivery.status !== 'sent' && <div className="small">{delivery.fault}</div>}
          </td>
        </tr>
      ))}
    </TablePanel>
  );
}

interface TablePanelProps {
  id: string;
  title: string;
  /** Shown where there are no rows. */
  empty: string;
  heads: string[];
  children: ReactElement[];
}

function TablePanel({ id, title, empty, heads, children }: TablePanelProps) {
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children.length === 0 ? (
        <p className="empty">{empty}</p>
      ) : (
        <ScrollRegion label={title}>
          <table>
            <thead>
              <tr>
                {heads.map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{children}</tbody>
          </table>
        </ScrollRegion>
      )}
    </section>
  );
}

function toTime(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ');
}
