import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { equalSecrets } from '@palaver/service-kit/internal';
import type { AdapterAccess } from './adapter.ts';
import type { AdapterMapping } from './adapter-schema.ts';

/** Who may call, as a mapping says; `undefined` where it says nothing. */
export function compileAccess(
  { auth, allow }: AdapterMapping,
  secrets: Readonly<Record<string, string>>,
): AdapterAccess | undefined {
  if (!auth && !allow) return undefined;
  const secretOf = (name: string) => secrets[name] ?? '';
  const { basic, header, signature } = auth ?? {};
  const expected: [name: string, value: string][] = [];
  if (basic)
    expected.push([
      'authorization',
      `Basic ${Buffer.from(`${basic.user}:${secretOf(basic.password)}`).toString('base64')}`,
    ]);
  if (header) expected.push([header.name.toLowerCase(), secretOf(header.secret)]);
  return {
    allows(headers, address) {
      if (allow && !allow.check(address, address.includes(':') ? 'ipv6' : 'ipv4')) return false;
      return expected.every(([name, value]) => equalSecrets(textOf(headers, name), value));
    },
    ...(signature && {
      isSigned(headers, body) {
        const { algorithm, encoding, prefix } = signature;
        const mac = createHmac(algorithm, secretOf(signature.secret)).update(body).digest(encoding);
        return equalSecrets(textOf(headers, signature.header.toLowerCase()), `${prefix}${mac}`);
      },
    }),
  };
}

function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
