import { StoreError } from './store-error.ts';

export interface PostgresHosts {
  /** One address for each host, in the order they are tried. */
  urls: string[];
  /** Whether a host that takes no writes is passed over. */
  writable: boolean;
  /** Hosts, ports and database; never the password. */
  target: string;
}

const pattern = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/;

/**
 * `postgres://user:password@a:5432,b:5432/name`: the first host that takes writes is used, as libpq does with
 * `target_session_attrs=read-write`; `?target_session_attrs=any` takes the first that answers.
 */
export function parsePostgresUrl(url: string): PostgresHosts {
  const [, login = '', hosts = '', rest = ''] = pattern.exec(url) ?? [];
  const names = hosts.split(',');
  const urls = names.map((host) => `${login}${host}${rest}`);
  if (login === '' || !urls.every((one) => URL.canParse(one)) || (names.length > 1 && names.includes(''))) {
    const expected = 'expected postgres://user:password@host:5432/name, several hosts separated by commas';
    throw new StoreError('bad-url', `the database address is malformed; ${expected}`);
  }
  const parsed = urls.map((one) => new URL(one));
  const wanted = parsed[0]?.searchParams.get('target_session_attrs');
  for (const one of parsed) one.searchParams.delete('target_session_attrs');
  return {
    urls: parsed.map(({ href }) => href),
    writable:
      wanted === null || wanted === undefined ? names.length > 1 : wanted === 'read-write' || wanted === 'primary',
    target:
      parsed.map(({ hostname, port }) => `${hostname || 'localhost'}:${port || 5432}`).join(',') + parsed[0]?.pathname,
  };
}
