import { formatFault } from '@palaver/program/internal';
import type { Env } from '@palaver/service-kit';
import { toSampleAdapters, toSampleExchange } from '../channel/adapter.ts';
import { loadAdapter } from '../channel/load-adapters.ts';
import { adapterSecretPrefix, toSecrets } from '../config.ts';
import type { MenuReport } from './check-programs.ts';

export async function checkAdapterFile(file: string, env: Env): Promise<MenuReport> {
  const check = await loadAdapter(file, toSecrets(env, adapterSecretPrefix));
  if (!check.ok) return { ok: false, lines: check.faults.map(formatFault) };
  const { adapter } = check;
  const methods = adapter.methods.join(' or ');
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`${adapter.title}: ${methods} ${adapter.path}: no faults`];
  const sample = toSampleAdapters([adapter]).get(adapter.name);
  if (!sample) return { ok: true, lines };
  const call = { sessionId: 'sample-1', phoneNumber: '+254700000001', serviceCode: '*1234#' };
  for (const [inputs, reply] of [
    [[], 'CON Welcome\n1. Yes'],
    [['1'], 'END Goodbye'],
  ] as const) {
    const { headers } = sample.toSample({ ...call, inputs });
    const { path, request, reply: shown } = toSampleExchange(sample, { ...call, inputs }, reply);
    const { body, contentType } = request;
    const sent = { ...(body !== '' && { 'content-type': contentType }), ...headers, ...adapter.access?.sign?.(body) };
    const options = Object.entries(sent).map(([name, value]) => ` -H ${quote(`${name}: ${value}`)}`);
    if (body !== '') options.push(` -d ${quote(body)}`);
    lines.push(
      '',
      `curl -X ${adapter.methods[0]} ${quote(`http://127.0.0.1:3000${path}`)}${options.join('')}`,
      ...Object.entries(shown.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
      shown.body,
    );
  }
  return { ok: true, lines };
}
