import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Fault, formatFault, parseYaml, sayIssue } from '@palaver/program/internal';
import { StartError } from '@palaver/service-kit';
import { adapterSecretPrefix } from '../config.ts';
import type { Adapter } from './adapter.ts';
import { type AdapterMapping, adapterSchema, namesIn, parsePlace } from './adapter-schema.ts';
import { compileAdapter, ownPath } from './compile-adapter.ts';

const bundledFolder = fileURLToPath(new URL('../../adapters/', import.meta.url));

/** The bundled adapters, then those of `USSD_ADAPTERS`; one with the name of another replaces it. */
export async function loadAdapters(files: readonly string[], secrets: Readonly<Record<string, string>>) {
  const bundled = readdirSync(bundledFolder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => join(bundledFolder, file));
  const adapters = new Map<string, Adapter>();
  const faults: Fault[] = [];
  for (const file of [...bundled, ...files]) {
    const check = await loadAdapter(file, secrets);
    if (!check.ok) faults.push(...check.faults);
    else adapters.set(check.adapter.name, check.adapter);
  }
  if (faults.length > 0) throw new StartError(faults.map(formatFault).join('\n'));
  const loaded = [...adapters.values()];
  const own = loaded.filter(({ path }) => path === ownPath);
  if (own.length !== 1 || own[0]?.name !== ownName)
    throw new StartError(`the path ${ownPath} is that of ${ownName} alone`);
  return loaded;
}

const ownName = 'africas-talking';

/** A mapping, or a module of its author's own that exports `adapter`. */
export async function loadAdapter(file: string, secrets: Readonly<Record<string, string>>): Promise<AdapterCheck> {
  try {
    if (/\.[cm]?[jt]s$/.test(file)) {
      const { adapter } = (await import(pathToFileURL(resolve(file)).href)) as { adapter?: Adapter };
      if (typeof adapter?.read === 'function') return { ok: true, adapter };
      throw new Error('the module exports no "adapter"');
    }
    return parseAdapter(file, readFileSync(file, 'utf8'), secrets);
  } catch (error) {
    return { ok: false, faults: [{ file, line: 1, message: error instanceof Error ? error.message : String(error) }] };
  }
}

type AdapterCheck = { ok: true; adapter: Adapter } | { ok: false; faults: Fault[] };

export function parseAdapter(file: string, text: string, secrets: Readonly<Record<string, string>>): AdapterCheck {
  const yaml = parseYaml(file, text);
  if (yaml.faults.length > 0) return { ok: false, faults: yaml.faults };
  const faults: Fault[] = [];
  const refuse = (path: PropertyKey[], message: string) => faults.push({ file, line: yaml.lineOf(path), message });
  const parsed = adapterSchema.safeParse(yaml.value);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
      const said = sayIssue(issue, yaml.value, adapterSchema);
      const isOfRequest = issue.path.length === 0 && unknown.some((name) => name in adapterSchema.shape.request.shape);
      const remedy = isOfRequest ? 'it is a field of request' : inCode;
      refuse([...issue.path, ...unknown], unknown.length > 0 ? `${said}; ${remedy}` : said);
    }
    return { ok: false, faults };
  }
  checkMapping(parsed.data, refuse);
  checkSecrets(parsed.data, secrets, refuse);
  return faults.length > 0 ? { ok: false, faults } : { ok: true, adapter: compileAdapter(parsed.data, secrets) };
}

const inCode = 'what no field expresses is "An adapter in code" of docs/ussd-adapters.md';

const splitPlace = (place: string) => (parsePlace(place).kind === undefined ? place.split(/[.@]/) : []);

type Refuse = (path: PropertyKey[], message: string) => void;

function checkMapping({ path, request, reply, auth }: AdapterMapping, refuse: Refuse): void {
  const { input, first, method, format } = request;
  const needsFirst = 'a gateway that sends only the newest input needs request.first: how a new call is known';
  if (input.newest !== undefined && !first) refuse(['request', 'input'], needsFirst);
  if (input.accumulated !== undefined && first)
    refuse(['request', 'first'], 'a call with accumulated input begins with an empty text; remove request.first');
  for (const name of ['sequence', 'repeatWithin'] as const)
    if (input.accumulated !== undefined && request[name] !== undefined)
      refuse(['request', name], `a repeat of accumulated input is known by its text; remove request.${name}`);
  if (method.includes('GET') && format.some((each) => each !== 'query'))
    refuse(['request', 'format'], 'a GET request has no body; its format is query');
  if (format.includes('query') && format.length > 1)
    refuse(['request', 'format'], 'query is not combined with another format');
  if (auth?.signature && format.includes('query'))
    refuse(['auth', 'signature'], 'a signature is made of the body, which a query does not have');
  const { session, number, code, hangUp, sequence, operator } = request;
  const isCode = code.at?.startsWith('*');
  if (isCode)
    refuse(
      ['request', 'code'],
      `is a place of the request; write { is: "${code.at}" } for a code that it does not have`,
    );
  const own = {
    session,
    number: number.at,
    code: isCode ? undefined : code.at,
    input: input.accumulated ?? input.newest,
  };
  const places = { ...own, first: first?.at, hangUp: hangUp?.at, sequence, operator };
  const parameters = path.split('/').filter((part) => part.startsWith(':'));
  const isXml = format.every((each) => each === 'xml');
  const [root = ''] = splitPlace(Object.values(own).find((place) => place && splitPlace(place).length > 1) ?? '');
  const checkPlace = (at: PropertyKey[], place: string) => {
    const { kind, name } = parsePlace(place);
    if (kind === 'path' && !parameters.includes(`:${name}`)) refuse(at, `path has no :${name}; add it there`);
    if (!isXml || kind !== undefined) return;
    const [first, ...more] = splitPlace(place);
    if (more.length === 0 || first !== root)
      refuse(at, `a place in XML begins with the root element, which is the same for all: ${root || 'root'}.${name}`);
  };
  for (const [name, place] of Object.entries(places)) if (place !== undefined) checkPlace(['request', name], place);
  for (const kind of ['continue', 'end', 'hangUp'] as const) {
    const template = reply[kind];
    if (template === undefined) continue;
    const at = ['reply', kind];
    if (reply.format !== 'json' && typeof template !== 'string')
      refuse(at, `must be a text where the format is ${reply.format}`);
    const names = namesIn(template);
    if (kind !== 'hangUp' && !names.includes('reply'))
      refuse(at, 'says nowhere where the screen goes; write "{reply}" there');
    for (const name of names) {
      if (name.startsWith('request.')) checkPlace(at, name.slice('request.'.length));
      else if (name !== 'reply') refuse(at, `{${name}} is not known here; it is {reply} or {request.${name}}`);
    }
  }
  if (reply.hangUp !== undefined && !request.hangUp)
    refuse(['reply', 'hangUp'], 'is never sent without request.hangUp: how a call that is over is known');
}

function checkSecrets({ auth }: AdapterMapping, secrets: Readonly<Record<string, string>>, refuse: Refuse): void {
  const named = [
    [['auth', 'basic', 'password'], auth?.basic?.password],
    [['auth', 'header', 'secret'], auth?.header?.secret],
    [['auth', 'signature', 'secret'], auth?.signature?.secret],
  ] as const;
  for (const [path, name] of named)
    if (name !== undefined && !secrets[name])
      refuse([...path], `the secret ${name} has no value; set ${adapterSecretPrefix}${name}`);
}
