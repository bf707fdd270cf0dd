import type { TriedCall } from '@palaver/contract/internal';
import type { Adapter, SampleCall } from './adapter.ts';

type SampleAdapter = Adapter & Required<Pick<Adapter, 'toSample'>>;

/** The adapters that programs can be tried with, by name. */
export function toSampleAdapters(adapters: readonly Adapter[]): ReadonlyMap<string, SampleAdapter> {
  const samples = adapters.filter((adapter): adapter is SampleAdapter => adapter.toSample !== undefined);
  return new Map(samples.map((adapter) => [adapter.name, adapter]));
}

/** What a telecom gateway sends for the last input of a call, and what it gets for `reply`. */
export function toSampleExchange(adapter: SampleAdapter, call: SampleCall, reply: string): TriedCall['exchange'] {
  const { path, contentType, body } = adapter.toSample(call);
  const [pathname = '', search] = path.split('?');
  const values = pathname.split('/');
  const params = Object.fromEntries(
    adapter.path.split('/').flatMap((part, i) => (part.startsWith(':') ? [[part.slice(1), values[i] ?? '']] : [])),
  );
  const query = Object.fromEntries(new URLSearchParams(search));
  const raw = { headers: { 'content-type': contentType }, query, params };
  return { path, request: { contentType, body }, reply: adapter.write(adapter.read(raw, body), reply) };
}
