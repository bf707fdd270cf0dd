import type { SampleCall } from './adapter.ts';
import { type AdapterMapping, type BodyFormat, contentTypesOf, parsePlace } from './adapter-schema.ts';
import { escapeXml } from './escape-xml.ts';

/** The last request of a call, with the fields that the mapping reads and those of `sample`. */
export function toSample(
  { path, request }: AdapterMapping,
  { sessionId, phoneNumber, serviceCode, inputs }: SampleCall,
) {
  const { number, code, input, first, format } = request;
  const fields: Record<string, unknown> = {};
  const query: Record<string, string> = {};
  let filled = path;
  const set = (place: string, value: unknown) => {
    const { kind, name } = parsePlace(place);
    if (kind === 'path') filled = filled.replace(`:${name}`, encodeURIComponent(String(value)));
    else if (kind === 'query' || format.includes('query')) query[name] = String(value);
    else if (kind === undefined) setField(fields, place.split('.'), value);
  };
  const isFirst = inputs.length === 0;
  for (const [place, value] of Object.entries(request.sample)) set(place, value);
  set(request.session, sessionId);
  set(number.at, number.plus ? phoneNumber.slice(1) : phoneNumber);
  if (code.at !== undefined) set(code.at, serviceCode);
  if (input.newest !== undefined && !(isFirst && input.newest === code.at))
    set(input.newest, inputs.at(-1) ?? serviceCode);
  if (input.accumulated !== undefined) set(input.accumulated, inputs.join('*'));
  if (first) set(first.at, isFirst ? first.is[0] : otherThan(first.is[0], request.sample[first.at]));
  if (request.sequence !== undefined) set(request.sequence, inputs.length + 1);
  const search = new URLSearchParams(query).toString();
  const [kind = 'json'] = format.includes('form') ? ['form' as const] : format;
  return {
    path: search === '' ? filled : `${filled}?${search}`,
    contentType: contentTypesOf[kind][0] ?? '',
    body: sampleBodies[kind](fields),
  };
}

/** What a later request has where the first has `value`. */
function otherThan(value: unknown, sample: unknown): unknown {
  if (sample !== undefined) return sample;
  return typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : 'response';
}

function setField(fields: Record<string, unknown>, [name = '', ...more]: string[], value: unknown): void {
  if (more.length === 0) {
    fields[name] = value;
    return;
  }
  const inner = (fields[name] ?? {}) as Record<string, unknown>;
  setField(inner, more, value);
  fields[name] = inner;
}

const sampleBodies: Record<BodyFormat, (fields: Record<string, unknown>) => string> = {
  json: (fields) => JSON.stringify(fields),
  form: (fields) => new URLSearchParams(fields as Record<string, string>).toString(),
  query: () => '',
  xml: (fields) =>
    Object.entries(fields)
      .map(([name, value]) => toElement(name, value))
      .join(''),
};

function toElement(name: string, value: unknown): string {
  const inner =
    typeof value === 'object' && value !== null
      ? sampleBodies.xml(value as Record<string, unknown>)
      : escapeXml(String(value));
  return `<${name}>${inner}</${name}>`;
}
