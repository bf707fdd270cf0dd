import type { FormSource } from '@palaver/program/internal';
import { readArguments } from './adapt-form.ts';
import type { FormReport } from './form-protocol.ts';
import { unanswerable } from './walk.ts';
import {
  createInstance,
  elementsIn,
  FormFault,
  loadXForm,
  messageOf,
  parseXml,
  regexFault,
  type XmlElement,
} from './xforms.ts';

const maxQuestions = 1_000;
const maxChoices = 20_000;
/** The engine takes twice the memory for each group in a group. */
const maxDepth = 12;
const controls = ['input', 'select', 'select1', 'upload', 'range', 'trigger', 'odk:rank', 'rank'];
const mediaNames: Record<string, string> = {
  upload: 'a photo, a recording or a file',
  geopoint: 'a place by GPS',
  geotrace: 'a track by GPS',
  geoshape: 'an area by GPS',
};

export async function inspectForm(source: FormSource): Promise<FormReport> {
  const report = { title: '', formId: '', version: '', languages: [] as string[], names: [] as string[] };
  try {
    const document = await parseXml(source.xml);
    const elements = [...elementsIn(document)];
    // The engine computes them as it loads the form.
    const patterns = findPatterns(source.xml, elements);
    if (patterns.length > 0) return { ...report, faults: patterns };
    const instance = elements.find(({ tagName }) => tagName === 'instance');
    // The root is no group, and neither is a question.
    const depth = instance ? depthOf(instance) - 2 : 0;
    if (depth > maxDepth)
      throw new FormFault(`there are groups in groups ${depth} deep: use at most ${maxDepth} levels`);
    const form = await loadXForm(source);
    const root = createInstance(form, '');
    const body = elements.filter(({ tagName }) => controls.includes(tagName));
    const data = instance?.firstElementChild;
    const faults = findMissing(source.xml, elements, body);
    if (body.length > maxQuestions)
      faults.push({ line: 1, message: `the form has more than ${maxQuestions} questions: divide it into several` });
    if (elements.filter(({ tagName }) => tagName === 'item').length > maxChoices)
      faults.push({ line: 1, message: `the form has more than ${maxChoices} choices: divide it into several` });
    return {
      title: elements.find(({ localName }) => localName === 'title')?.textContent ?? '',
      formId: data?.getAttribute('id') ?? '',
      version: data?.getAttribute('version') ?? '',
      languages: root.languages.flatMap((language) =>
        'language' in language && language.language ? [language.language] : [],
      ),
      names: data ? [...elementsIn(data)].map(({ localName }) => localName) : [],
      faults,
    };
  } catch (error) {
    let message =
      error instanceof FormFault ? error.message : `the form cannot be loaded: ${messageOf(error as Error)}`;
    if (isMissingPackage(error))
      message = 'forms need the packages @getodk/xforms-engine and jsdom, which "npm install" brings as optional ones';
    return { ...report, faults: [{ line: 1, message }] };
  }
}

function depthOf(parent: XmlElement): number {
  let depth = 0;
  for (let element = parent.firstElementChild; element; element = element.nextElementSibling)
    depth = Math.max(depth, depthOf(element) + 1);
  return depth;
}

/** Patterns whose matching may take far longer than the length of an answer justifies. */
function findPatterns(xml: string, elements: readonly XmlElement[]): { line: number; message: string }[] {
  return elements.flatMap((element) =>
    Array.from(element.attributes).flatMap(({ value }) =>
      [...value.matchAll(/\bregex\s*\(/g)].flatMap(({ index, 0: { length } }) => {
        const [, quoted = ''] = readArguments(value, index + length - 1)?.parts ?? [];
        const [, , pattern] = /^(['"])(.*)\1$/s.exec(quoted) ?? [];
        const fault = pattern === undefined ? undefined : regexFault(pattern);
        const at = xml.indexOf(`"${element.getAttribute('nodeset')}"`);
        const line = xml.slice(0, Math.max(0, at)).split('\n').length;
        return fault === undefined ? [] : [{ line, message: `the pattern ${pattern} cannot be used: ${fault}` }];
      }),
    ),
  );
}

function findMissing(
  xml: string,
  elements: readonly XmlElement[],
  body: readonly XmlElement[],
): { line: number; message: string; question?: string }[] {
  const binds = new Map(
    elements.flatMap((element) =>
      element.tagName === 'bind' ? [[element.getAttribute('nodeset') ?? '', element] as const] : [],
    ),
  );
  return body.flatMap((control) => {
    const ref = control.getAttribute('ref') ?? '';
    const bind = binds.get(ref);
    const type = control.tagName === 'upload' ? 'upload' : (bind?.getAttribute('type') ?? 'string');
    if (type !== 'upload' && !unanswerable.includes(type)) return [];
    const required = bind?.getAttribute('required')?.trim() ?? 'false()';
    if (required === 'false()' || bind?.getAttribute('readonly')?.trim() === 'true()') return [];
    const line = xml.slice(0, Math.max(0, xml.indexOf(`"${ref}"`))).split('\n').length;
    const what = mediaNames[type] ?? `an answer of type ${type}`;
    const remedy = `make it optional, or leave it out with waive: [${ref.split('/').at(-1)}]`;
    const message = `${ref} is required and asks for ${what}, which a keypad cannot give: ${remedy}`;
    return [{ line, question: ref, message }];
  });
}

function isMissingPackage(error: unknown): boolean {
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes((error as NodeJS.ErrnoException).code ?? '');
}
