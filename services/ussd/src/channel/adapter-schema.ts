import { z } from 'zod';
import { toBlockList } from '../config.ts';
import type { SampleCall } from './adapter.ts';
import { escapeXml, type Fields } from './xml.ts';

const place = z.string().min(1).max(100);
const seconds = z.coerce
  .string()
  .regex(/^\d+(\.\d+)?s$/, 'a time such as 8s')
  .transform((text) => Number(text.slice(0, -1)) * 1000);
const secret = z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'the name of a secret, in capital letters');
const headerName = z.string().regex(/^[\w-]+$/, 'the name of a header');
const headerValue = z.string().regex(/^[ -~]*$/, 'a text of ASCII characters');
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const condition = z.strictObject({
  at: place,
  is: z.union([scalar, z.array(scalar).min(1)]).transform((value) => (Array.isArray(value) ? value : [value])),
});
const method = z.enum(['GET', 'POST', 'PUT']);
const format = z.enum(['json', 'form', 'xml', 'query']);

/** What a mapping says; docs/ussd-adapters.md describes each field. */
export const adapterSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'a name of small letters, digits and hyphens'),
  title: z.string().min(1).max(60),
  source: z.string().optional(),
  path: z.string().regex(/^(\/:?[\w.-]+)+$/, 'a path such as /ussd/callback or /api/ussd/mine'),
  request: z.strictObject({
    method: z
      .union([method, z.array(method).min(1)])
      .default('POST')
      .transform((value) => [value].flat()),
    format: z.union([format, z.array(format).min(1)]).transform((value) => [value].flat()),
    contentTypes: z.array(z.string().regex(/^[\w.+-]+\/[\w.+-]+$/, 'a content type such as text/xml')).optional(),
    session: place,
    number: z.union([
      place.transform((at) => ({ at, plus: undefined })),
      z.strictObject({ at: place, plus: z.literal('added').optional() }),
    ]),
    code: z.union([
      place.transform((at) => ({ at, is: undefined, marks: undefined })),
      z.strictObject({ at: place, is: z.undefined().optional(), marks: z.literal('added').optional() }),
      z.strictObject({ at: z.undefined().optional(), is: z.string(), marks: z.undefined().optional() }),
    ]),
    input: z.union([
      z.strictObject({
        accumulated: place,
        separator: z.string().min(1).max(10).optional(),
        newest: z.undefined().optional(),
      }),
      z.strictObject({
        accumulated: z.undefined().optional(),
        separator: z.undefined().optional(),
        newest: place,
      }),
    ]),
    first: condition.optional(),
    hangUp: condition.optional(),
    sequence: place.optional(),
    repeatWithin: seconds.optional(),
    operator: place.optional(),
    sample: z.record(z.string(), scalar).default({}),
  }),
  reply: z.strictObject({
    format: z.enum(['text', 'json', 'xml']),
    contentType: z.string().optional(),
    headers: z.record(headerName, z.strictObject({ continue: headerValue, end: headerValue })).optional(),
    continue: z.json(),
    end: z.json(),
    hangUp: z.json().optional(),
  }),
  auth: z
    .strictObject({
      basic: z.strictObject({ user: z.string().min(1), password: secret }).optional(),
      header: z.strictObject({ name: z.string().min(1), secret }).optional(),
      signature: z
        .strictObject({
          header: z.string().min(1),
          algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
          encoding: z.enum(['hex', 'base64']).default('hex'),
          prefix: z.string().default(''),
          secret,
        })
        .optional(),
    })
    .optional(),
  allow: z
    .array(z.string())
    .min(1)
    .transform((ranges, context) => {
      const list = toBlockList(ranges);
      if (list) return list;
      context.issues.push({ code: 'custom', message: 'must be addresses or CIDR ranges', input: ranges });
      return z.NEVER;
    })
    .optional(),
  timeLimit: seconds.optional(),
});

export type AdapterMapping = z.infer<typeof adapterSchema>;

export type BodyFormat = z.infer<typeof format>;

export const contentTypesOf: Record<BodyFormat, readonly string[]> = {
  json: ['application/json'],
  form: ['application/x-www-form-urlencoded'],
  xml: ['application/xml', 'text/xml'],
  query: [],
};

/** `header:`, `query:` and `path:` name parts of the request; everything else is a path of fields in its body. */
export function parsePlace(place: string): { kind?: 'header' | 'query' | 'path'; name: string } {
  const [, kind, name = place] = /^(header|query|path):(.+)$/s.exec(place) ?? [];
  return { ...(kind !== undefined && { kind: kind as 'header' }), name };
}

export const placeholder = /\{([^{}]*)\}/g;

export function namesIn(template: unknown): string[] {
  if (typeof template === 'string') return [...template.matchAll(placeholder)].map(([, name = '']) => name);
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap(namesIn);
}

export function toSample(
  { path, request }: AdapterMapping,
  { sessionId, phoneNumber, serviceCode, inputs }: SampleCall,
) {
  const { number, code, input, first, format } = request;
  const fields: Fields = {};
  const query: Record<string, string> = {};
  const headers: Record<string, string> = {};
  let filled = path;
  const set = (place: string, value: unknown) => {
    const { kind, name } = parsePlace(place);
    if (kind === 'path') filled = filled.replace(`:${name}`, encodeURIComponent(String(value)));
    else if (kind === 'header') headers[name.toLowerCase()] = String(value);
    else if (kind === 'query' || format.includes('query')) query[name] = String(value);
    else setField(fields, place.split('.'), value);
  };
  const isFirst = inputs.length === 0;
  for (const [place, value] of Object.entries(request.sample)) set(place, value);
  set(request.session, sessionId);
  set(number.at, number.plus ? phoneNumber.slice(1) : phoneNumber);
  if (input.newest !== undefined) set(input.newest, inputs.at(-1) ?? '');
  if (code.at !== undefined && (isFirst || input.newest !== code.at))
    set(code.at, code.marks ? serviceCode.slice(1, -1) : serviceCode);
  if (input.accumulated !== undefined) set(input.accumulated, inputs.join(input.separator ?? '*'));
  if (first) set(first.at, isFirst ? first.is[0] : otherThan(first.is[0], request.sample[first.at]));
  if (request.sequence !== undefined) set(request.sequence, inputs.length + 1);
  const search = new URLSearchParams(query).toString();
  const [kind = 'json'] = format.includes('form') ? ['form' as const] : format;
  const [usual = ''] = contentTypesOf[kind];
  return {
    path: search === '' ? filled : `${filled}?${search}`,
    contentType: request.contentTypes?.includes(usual) === false ? (request.contentTypes[0] ?? '') : usual,
    headers,
    body: sampleBodies[kind](fields),
  };
}

function otherThan(value: unknown, sample: unknown): unknown {
  if (sample !== undefined) return sample;
  return typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : 'response';
}

function setField(fields: Fields, [name = '', ...more]: string[], value: unknown): void {
  const inner = (fields[name] ?? {}) as Fields;
  if (more.length > 0) setField(inner, more, value);
  fields[name] = more.length > 0 ? inner : value;
}

const sampleBodies: Record<BodyFormat, (fields: Fields) => string> = {
  json: (fields) => JSON.stringify(fields),
  form: (fields) => new URLSearchParams(fields as Record<string, string>).toString(),
  query: () => '',
  xml: (fields) =>
    [...new Set(Object.keys(fields).map((key) => key.replace(/@.*/, '')))]
      .map((name) => toElement(name, fields))
      .join(''),
};

function toElement(name: string, { [name]: value = '', ...beside }: Fields): string {
  const inner = typeof value === 'object' ? sampleBodies.xml(value as Fields) : escapeXml(String(value));
  const attributes = Object.entries(beside).filter(([key]) => key.startsWith(`${name}@`));
  const written = attributes.map(([key, text]) => ` ${key.slice(name.length + 1)}="${escapeXml(String(text))}"`);
  return `<${name}${written.join('')}>${inner}</${name}>`;
}
