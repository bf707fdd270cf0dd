import { createRequire } from 'node:module';
import type { FormSource } from '@palaver/program/internal';
import { hasMatch } from '@palaver/program/pattern';
import { adaptForm } from './adapt-form.ts';
import {
  type Definition,
  formWithRepeat,
  limitCounts,
  limitExpressions,
  limitRepeats,
  RefusedAnswer,
} from './repeats.ts';

/** The part of `@getodk/xforms-engine` that is used here. The package is optional, so its own types are not. */
export interface FormText {
  asString: string;
}

export interface FormItem {
  value: string;
  label: FormText;
}

export interface Violation {
  condition: 'constraint' | 'required';
  message: FormText | null;
}

export interface FormNode {
  nodeType: string;
  valueType?: string;
  selectType?: string;
  appearances?: { label?: boolean } | null;
  currentState: {
    reference: string;
    relevant: boolean;
    readonly: boolean;
    required: boolean;
    label: FormText | null;
    hint: FormText | null;
    children: readonly FormNode[] | null;
    value: unknown;
    valueOptions: readonly FormItem[] | null;
  };
  /** Without a condition `relevant` is `true()`. */
  definition: Definition & {
    bind: { relevant: { expression: string | null } };
    bodyElement?: { bounds?: { start?: string; end?: string } };
  };
  parent: FormNode | null;
  validationState: {
    violation?: Violation | null;
    violations?: readonly { reference: string; violation: Violation }[];
  };
  setValue(value: string | boolean | null): void;
  selectValues(values: readonly string[]): void;
  setValues(values: readonly string[]): void;
  addInstances(): void;
  removeInstances(index: number): void;
}

export interface FormLanguage {
  language: string;
}

export interface FormRoot extends FormNode {
  languages: readonly (FormLanguage | { isSyntheticDefault: true })[];
  currentState: FormNode['currentState'] & { activeLanguage: FormLanguage };
  instanceState: { instanceXML: string };
  evaluator: Parameters<typeof limitExpressions>[0] & { functions: Functions };
  setLanguage(language: FormLanguage): void;
  prepareInstancePayload(): Promise<{ data: readonly [FormData, ...FormData[]] }>;
}

interface Functions {
  getDefaultImplementation(name: string): {
    callable(context: unknown, values: readonly { evaluate(context: unknown): unknown }[]): unknown;
  };
}

interface InstanceOptions {
  preloadProperties: { phoneNumber: string; deviceID?: string };
}

export interface LoadedForm {
  createInstance(options: InstanceOptions): { root: FormRoot };
  restoreInstance(input: { data: FormData[] }, options: InstanceOptions): Promise<{ root: FormRoot }>;
}

type LoadResult = LoadedForm & { status: string; error: Error | null };

interface Engine {
  loadForm(
    xml: string,
    options: { fetchFormAttachment(url: URL): Promise<Response>; missingResourceBehavior: 'ERROR' },
  ): Promise<LoadResult>;
}

const enginePackage = '@getodk/xforms-engine';
const instanceFile = 'xml_submission_file';
let engine: Promise<Engine> | undefined;
let parser: DomParser | undefined;

export interface XmlElement {
  tagName: string;
  localName: string;
  textContent: string | null;
  firstElementChild: XmlElement | null;
  nextElementSibling: XmlElement | null;
  getAttribute(name: string): string | null;
  attributes: ArrayLike<{ value: string }>;
}

/** Every element below this one, in order. Collections of jsdom take time that grows with the square of their length. */
export function* elementsIn(parent: XmlElement): Generator<XmlElement> {
  for (let element = parent.firstElementChild; element; element = element.nextElementSibling) {
    yield element;
    yield* elementsIn(element);
  }
}

interface DomParser {
  parseFromString(xml: string, type: 'text/xml'): XmlElement;
}

/** The engine is written for browsers: it finds what it uses of one among the globals, which belong to this thread alone. */
async function loadEngine(): Promise<Engine> {
  const { JSDOM } = createRequire(import.meta.url)('jsdom') as { JSDOM: new (html: string) => { window: unknown } };
  const window = new JSDOM('').window as Record<string, unknown> & { DOMParser: new () => DomParser };
  for (const name of ['document', 'Node', 'Element', 'Document', 'XMLDocument', 'DOMParser', 'XMLSerializer'])
    Object.assign(globalThis, { [name]: window[name] });
  // Its WebAssembly loader looks for the folder of a script; the module itself is inlined.
  Object.assign(globalThis, { window: globalThis, __dirname: '/' });
  parser = new window.DOMParser();
  limitCounts((window.Element as { prototype: Parameters<typeof limitCounts>[0] }).prototype);
  const loaded = (await import(enginePackage)) as Engine;
  const form = await toForm(loaded, { xml: formWithRepeat, attachments: {} });
  const { currentState, evaluator } = createInstance(form, '');
  const range = currentState.children?.find(({ nodeType }) => nodeType.startsWith('repeat-range'));
  if (range) limitRepeats(range);
  limitExpressions(evaluator);
  replaceRegex(evaluator.functions);
  return loaded;
}

/** The engine's own takes time that may double with each character. */
function replaceRegex(functions: Functions): void {
  functions.getDefaultImplementation('regex').callable = (context, values) => {
    const [text = '', pattern = ''] = values.map((value) => String(value.evaluate(context)));
    const isMatch = hasMatch(toRe2(pattern), text);
    if (isMatch === undefined) throw new RefusedAnswer({ key: 'form.refused' });
    return functions.getDefaultImplementation(String(isMatch)).callable(context, []);
  };
}

export function regexFault(pattern: string): string | undefined {
  try {
    return hasMatch(toRe2(pattern), '') === undefined ? 'it repeats too much' : undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const toRe2 = (pattern: string) => pattern.replace(/\\u([0-9a-f]{4})/gi, '\\x{$1}');

export class FormFault extends Error {
  override readonly name = 'FormFault';
}

export async function parseXml(xml: string): Promise<XmlElement> {
  engine ??= loadEngine();
  await engine;
  // Entities are never needed in a form, and are a known attack on XML parsers.
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml))
    throw new FormFault('a form must have no document type declaration and no entities: remove them');
  const document = (parser as DomParser).parseFromString(xml, 'text/xml');
  const fault = [...elementsIn(document)].find(({ tagName }) => tagName === 'parsererror')?.textContent?.trim();
  if (fault) throw new FormFault(`this is not XML: ${fault.split('\n', 1)[0]}`);
  return document;
}

export async function loadXForm(source: FormSource): Promise<LoadedForm> {
  engine ??= loadEngine();
  return toForm(await engine, source);
}

async function toForm({ loadForm }: Engine, { xml, attachments }: FormSource): Promise<LoadedForm> {
  const result = await loadForm(adaptForm(xml), {
    missingResourceBehavior: 'ERROR',
    async fetchFormAttachment(url) {
      const name = decodeURIComponent(url.href.split('/').at(-1) ?? '');
      const text = Object.hasOwn(attachments, name) ? attachments[name] : undefined;
      if (text === undefined) throw new FormFault(`there is no file ${name} beside the form`);
      return new Response(text, { headers: { 'content-type': typeOf(name) } });
    },
  });
  if (result.status === 'failure') throw new FormFault(messageOf(result.error ?? new Error('no reason is given')));
  return result;
}

function typeOf(name: string): string {
  if (name.endsWith('.csv')) return 'text/csv';
  return name.endsWith('.geojson') ? 'application/geo+json' : 'text/xml';
}

const plainMessages: Record<string, string> = {
  'Failed to evaluate node for expression ./*[@id]': 'the first element of its <instance> has no id',
  '': 'its calculations depend on each other in a circle',
};

export function messageOf(error: Error): string {
  const lines = error.message.split('\n').map((line) => line.trim());
  const last = lines.filter((line) => line !== '' && !/^[{}]/.test(line)).at(-1) ?? '';
  return plainMessages[last] ?? last.replace(/^-\s*/, '');
}

export function createInstance(form: LoadedForm, phoneNumber: string): FormRoot {
  return form.createInstance(optionsFor(phoneNumber)).root;
}

export async function restoreInstance(form: LoadedForm, xml: string, phoneNumber: string): Promise<FormRoot> {
  const data = new FormData();
  data.set(instanceFile, new File([xml], instanceFile, { type: 'text/xml' }));
  return (await form.restoreInstance({ data: [data] }, optionsFor(phoneNumber))).root;
}

export async function readInstance(root: FormRoot): Promise<string> {
  const { data } = await root.prepareInstancePayload();
  return (data[0].get(instanceFile) as File).text();
}

/** A phone without a browser has no device id. */
function optionsFor(phoneNumber: string): InstanceOptions {
  return { preloadProperties: { phoneNumber } };
}
