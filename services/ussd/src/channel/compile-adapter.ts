import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseJson } from '@palaver/contract/internal';
import { equalSecrets } from '@palaver/service-kit/internal';
import type { Adapter, AdapterAccess, AdapterRequest, RawRequest } from './adapter.ts';
import {
  type AdapterMapping,
  type BodyFormat,
  contentTypesOf,
  parsePlace,
  placeholder,
  toSample,
} from './adapter-schema.ts';
import { escapeXml, type Fields, readXml } from './xml.ts';

interface Source {
  raw: RawRequest;
  fields: unknown;
  isForm: boolean;
}

type Get = (source: Source) => unknown;

type Write<Value = unknown> = (source: Source | undefined, reply: string) => Value;

/** The path of the specification, whose refusals are HTTP errors. */
export const ownPath = '/api/ussd';

/** A mapping as closures: a request pays for the fields that it names and for nothing else. */
export function compileAdapter(mapping: AdapterMapping, secrets: Readonly<Record<string, string>>): Adapter {
  const { name, title, path, request, reply, timeLimit } = mapping;
  const readBody = compileBody(request.format);
  // The specification's own requests have texts alone.
  const session = (path === ownPath ? compilePlace : compileDigits)(request.session);
  const number = compileNumber(request.number);
  const code = compileCode(request.code);
  const accumulated = compileAccumulated(request.input);
  const newest = compileOptional(request.input.newest);
  const isFirst = compileCondition(request.first);
  const isHangUp = request.hangUp && compileCondition(request.hangUp);
  const sequence = compileOptional(request.sequence);
  const operator = compileOptional(request.operator);
  const contentType = reply.contentType ?? replyTypes[reply.format];
  const headersOf = (kind: 'continue' | 'end') =>
    reply.headers && Object.fromEntries(Object.entries(reply.headers).map(([name, values]) => [name, values[kind]]));
  const writers = {
    con: { headers: headersOf('continue'), write: compileTemplate(reply.format, reply.continue) },
    end: { headers: headersOf('end'), write: compileTemplate(reply.format, reply.end) },
    hangUp: reply.hangUp === undefined ? undefined : compileTemplate(reply.format, reply.hangUp),
  };
  const isQuery = request.format.includes('query');
  const toSource = (raw: RawRequest, body: string): Source | undefined => {
    const type = raw.headers['content-type'] ?? '';
    const fields = readBody(raw, type, body);
    return fields === undefined ? undefined : { raw, fields, isForm: isQuery || isForm(type) };
  };
  return {
    name,
    title,
    path,
    methods: request.method,
    contentTypes: request.contentTypes ?? request.format.flatMap((format) => contentTypesOf[format]),
    timeLimitMs: timeLimit,
    access: compileAccess(mapping, secrets),
    ...(path === ownPath && { hasErrorBodies: true }),
    read(raw, body) {
      const source = toSource(raw, body);
      if (!source) return undefined;
      const read: AdapterRequest = {
        sessionId: session(source),
        phoneNumber: number(source),
        serviceCode: code(source),
        source,
      };
      if (accumulated) read.text = accumulated(source);
      if (newest) {
        const first = isFirst(source);
        read.input = { value: first ? '' : newest(source), isFirst: first };
        if (sequence) read.input.sequence = sequence(source);
        if (request.repeatWithin) read.input.repeatWithinMs = request.repeatWithin;
      }
      if (operator) read.operator = operator(source);
      if (isHangUp) read.isHangUp = isHangUp(source);
      return read;
    },
    write(read, text) {
      const { headers, write } = text.startsWith('CON ') ? writers.con : writers.end;
      return { contentType, headers, body: write(read?.source as Source | undefined, text.slice(4)) };
    },
    acknowledge: (read) => ({ contentType, body: writers.hangUp?.(read.source as Source, '') ?? '' }),
    toSample: (call) => toSample(mapping, call),
  };
}

function compileBody(formats: BodyFormat[]): (raw: RawRequest, type: string, body: string) => unknown {
  const [first = 'json'] = formats;
  // No mapping combines it with another format.
  if (first === 'query') return ({ query }) => query;
  const [hasForm, hasXml] = [formats.includes('form'), formats.includes('xml')];
  const readOther = bodyReaders[formats.includes('json') ? 'json' : first];
  return (_, type, body) => {
    if (hasForm && isForm(type)) return bodyReaders.form(body);
    if (hasXml && /xml/i.test(type)) return bodyReaders.xml(body);
    return readOther(body);
  };
}

/** In a form a plus that was not escaped reads as a blank, and no phone number begins with one. */
function compileNumber({ at, plus }: AdapterMapping['request']['number']): Get {
  const get = plus ? compileDigits(at) : compilePlace(at);
  return (source) => {
    const value = get(source);
    if (typeof value !== 'string') return value;
    if (source.isForm && /^ \d/.test(value)) return `+${value.slice(1)}`;
    return plus && /^\d+$/.test(value) ? `+${value}` : value;
  };
}

function compileCode({ at, is, marks }: AdapterMapping['request']['code']): Get {
  if (is !== undefined) return () => is;
  if (!marks) return compilePlace(at ?? '');
  const get = compileDigits(at ?? '');
  return (source) => {
    const value = get(source);
    const digits = typeof value === 'string' ? value.replace(/^\*|#$/g, '') : '';
    return /^\d+(\*\d+)*$/.test(digits) ? `*${digits}#` : value;
  };
}

function compileAccumulated({ accumulated, separator }: AdapterMapping['request']['input']): Get | undefined {
  const get = compileOptional(accumulated);
  if (!get || separator === undefined) return get;
  return (source) => {
    const text = get(source);
    return typeof text === 'string' ? text.replaceAll(separator, '*') : text;
  };
}

function compileCondition(condition: AdapterMapping['request']['first']): (source: Source) => boolean {
  if (!condition) return () => false;
  const get = compilePlace(condition.at);
  const wanted = new Set<string | undefined>(condition.is.map(toComparable));
  return (source) => wanted.has(toComparable(get(source)));
}

/** By their texts, without regard to case: documents and gateways differ in types and case. */
const toComparable = (value: unknown) =>
  typeof value === 'object' || value === undefined ? undefined : String(value).toLowerCase();

/** JSON may have digits as a number. */
function compileDigits(place: string): Get {
  const get = compilePlace(place);
  return (source) => {
    const value = get(source);
    return typeof value === 'number' ? String(value) : value;
  };
}

const compileOptional = (place: string | undefined) => (place === undefined ? undefined : compilePlace(place));

function compilePlace(place: string): Get {
  const { kind, name } = parsePlace(place);
  if (kind === 'header') return ({ raw }) => raw.headers[name.toLowerCase()];
  if (kind === 'query') return ({ raw }) => fieldOf(raw.query, name);
  if (kind === 'path') return ({ raw }) => fieldOf(raw.params, name);
  const [first = '', ...more] = place.split('.');
  if (more.length === 0) return ({ fields }) => fieldOf(fields, first);
  return ({ fields }) => more.reduce(fieldOf, fieldOf(fields, first));
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Fields)[name];
}

/** They return `undefined` for a body that cannot be read. Names that objects inherit are fields like others. */
const bodyReaders: Record<Exclude<BodyFormat, 'query'>, (body: string) => Fields | undefined> = {
  json(body) {
    const value = parseJson(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  },
  form(body) {
    const fields: Fields = Object.create(null);
    for (const [name, value] of new URLSearchParams(body)) fields[name] ??= value;
    return fields;
  },
  xml: readXml,
};

const isForm = (contentType: string) => /^application\/x-www-form-urlencoded\b/i.test(contentType);

const replyTypes = {
  text: 'text/plain; charset=utf-8',
  json: 'application/json; charset=utf-8',
  xml: 'text/xml; charset=utf-8',
};

function compileTemplate(format: 'text' | 'json' | 'xml', template: unknown): Write<string> {
  const write = compileValue(template, format === 'xml' ? escapeXml : String);
  if (format !== 'json') return (source, reply) => String(write(source, reply));
  return (source, reply) => {
    try {
      return JSON.stringify(write(source, reply));
    } catch {
      // A value of the request that is nested too deep to be written is not repeated.
      return JSON.stringify(write(undefined, reply));
    }
  };
}

function compileValue(template: unknown, toSafe: (text: string) => string): Write {
  if (typeof template === 'string') return compileText(template, toSafe);
  if (typeof template !== 'object' || template === null) return () => template;
  if (Array.isArray(template)) {
    const items = template.map((item) => compileValue(item, toSafe));
    return (source, reply) => items.map((write) => write(source, reply));
  }
  const entries = Object.entries(template).map(([key, value]) => [key, compileValue(value, toSafe)] as const);
  return (source, reply) => {
    const object: Fields = {};
    for (const [key, write] of entries) object[key] = write(source, reply);
    return object;
  };
}

/** A placeholder alone keeps the type of its value, and is left out of an object without one. */
function compileText(template: string, toSafe: (text: string) => string): Write {
  const parts = template.split(placeholder);
  const values = parts.map((part, i): Write => {
    if (i % 2 === 0) return () => part;
    if (part === 'reply') return (_, reply) => reply;
    const get = compilePlace(part.slice('request.'.length));
    return (source) => source && get(source);
  });
  const [before, alone, after] = values;
  if (parts.length === 3 && parts[0] === '' && parts[2] === '' && alone && toSafe === String) return alone;
  if (parts.length === 3 && before && alone && after)
    return (source, reply) => `${parts[0]}${toSafe(toText(alone(source, reply)))}${parts[2]}`;
  return (source, reply) =>
    values.map((write, i) => (i % 2 === 0 ? parts[i] : toSafe(toText(write(source, reply))))).join('');
}

/** Not of objects, which may bring a `toString` of their own. */
const toText = (value: unknown) => (value === undefined || typeof value === 'object' ? '' : String(value));

function compileAccess(
  { auth, allow }: AdapterMapping,
  secrets: Readonly<Record<string, string>>,
): AdapterAccess | undefined {
  if (!auth && !allow) return undefined;
  const secretOf = (name: string) => secrets[name] ?? '';
  const { basic, header, signature } = auth ?? {};
  const expected: [name: string, value: string][] = [];
  if (basic) {
    const credentials = Buffer.from(`${basic.user}:${secretOf(basic.password)}`).toString('base64');
    expected.push(['authorization', `Basic ${credentials}`]);
  }
  if (header) expected.push([header.name.toLowerCase(), secretOf(header.secret)]);
  return {
    allows(headers, address) {
      if (allow && !allow.check(address, address.includes(':') ? 'ipv6' : 'ipv4')) return false;
      return expected.every(([name, value]) => equalSecrets(textOf(headers, name), value));
    },
    ...(signature && {
      isSigned: (headers, body) => equalSecrets(textOf(headers, signature.header.toLowerCase()), toSignature(body)),
      sign: (body) => ({ [signature.header]: toSignature(body) }),
    }),
  };

  function toSignature(body: string): string {
    const { algorithm = '', encoding = 'hex', prefix = '', secret = '' } = signature ?? {};
    return `${prefix}${createHmac(algorithm, secretOf(secret)).update(body).digest(encoding)}`;
  }
}

function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
