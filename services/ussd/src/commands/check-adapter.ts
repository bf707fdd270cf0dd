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
  const lines = [`${adapter.title}: ${methods} ${adapter.path}: no faults`];
  const sample = toSampleAdapters([adapter]).get(adapter.name);
  if (!sample) return { ok: true, lines };
  const call = { sessionId: 'sample-1', phoneNumber: '+254700000001', serviceCode: '*1234#' };
  for (const [inputs, reply] of [
    [[], 'CON Welcome\n1. Yes'],
    [['1'], 'END Goodbye'],
  ] as const) {
    const { path, request, reply: shown } = toSampleExchange(sample, { ...call, inputs }, reply);
    const body = request.body === '' ? [] : [request.body];
    lines.push('', `${adapter.methods[0]} ${path}`, ...body, shown.body);
  }
  return { ok: true, lines };
}
