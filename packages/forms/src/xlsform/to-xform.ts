// The whole translation is one file, read from top to bottom: the sheet, then the model, then the body.
import { type QuestionType, questionTypes, typeAliases } from './question-types.ts';
import type { SheetRow } from './read-workbook.ts';
import { XlsFormFault } from './xlsform-fault.ts';

interface Item {
  type: string;
  list: string;
  name: string;
  row: SheetRow;
  path: string;
  parent: Item | undefined;
  children: Item[];
}

interface Form {
  items: Item[];
  byName: Map<string, Item[]>;
  root: Item;
  /** Texts by language and id; none where the form has one language without a name. */
  itext: Map<string, Map<string, [form: string, text: string][]>>;
  isTranslated: boolean;
  language: string;
}

export interface XlsForm {
  fileName: string;
  sheets: ReadonlyMap<string, readonly SheetRow[]>;
}

/** An XLSForm as the XForm that pyxform makes of it: https://xlsform.org and https://getodk.github.io/xforms-spec. */
export function toXForm({ fileName, sheets }: XlsForm): string {
  const survey = (sheets.get('survey') ?? []).map(normalizeRow);
  if (survey.length === 0) throw new XlsFormFault('it has no sheet named "survey" with questions');
  const choices = (sheets.get('choices') ?? []).map(normalizeRow);
  const [settings = {}] = (sheets.get('settings') ?? []).map(normalizeRow);
  const form = readForm(survey, choices, settings.default_language);
  const id = settings.form_id ?? settings.id_string ?? fileName;
  const title = settings.form_title ?? settings.title ?? id;
  const lists = listsOf(form, choices);
  const body = form.root.children.map((item) => toBody(form, item, lists)).join('');
  const binds = form.items.map((item) => toBind(form, item)).join('');
  const { version, style } = settings;
  const meta = element('meta', {}, [
    '<instanceID/>',
    settings.instance_name ? '<instanceName/>' : '',
    ...form.items.filter(({ type }) => typeOf(type)?.isMeta).map(({ name }) => `<${name}/>`),
  ]);
  const data = element('data', { id, version }, [...form.root.children.map((item) => toData(item, true)), meta]);
  const name = settings.instance_name;
  const calculate = name ? toExpression(form, name, form.root) : '';
  const nameBind = name ? element('bind', { nodeset: '/data/meta/instanceName', type: 'string', calculate }) : '';
  const model = [
    toItext(form),
    element('instance', {}, [data]),
    ...Array.from(lists.values(), ({ xml }) => xml),
    ...filesOf(form).map(([file, src]) => element('instance', { id: file, src }, [])),
    ...form.items.map((item) => toSetValue(form, item)),
    '<bind nodeset="/data/meta/instanceID" type="string" readonly="true()" jr:preload="uid"/>',
    nameBind,
    binds,
  ];
  return `<?xml version="1.0"?>
<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml" xmlns:ev="http://www.w3.org/2001/xml-events" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:jr="http://openrosa.org/javarosa" xmlns:orx="http://openrosa.org/xforms" xmlns:odk="http://www.opendatakit.org/xforms">
${element('h:head', {}, [element('h:title', {}, [toXml(title)]), element('model', { 'odk:xforms-version': '1.0.0' }, model)])}
${element('h:body', { class: style }, [body])}
</h:html>
`;
}

const columnAliases: Record<string, string> = {
  caption: 'label',
  relevance: 'relevant',
  calculate: 'calculation',
  read_only: 'readonly',
  'read only': 'readonly',
  'constraint message': 'constraint_message',
  constraining_message: 'constraint_message',
  'required message': 'required_message',
  'list name': 'list_name',
  'control::appearance': 'appearance',
  'body::appearance': 'appearance',
  'bind::jr:constraintmsg': 'constraint_message',
  'bind::jr:requiredmsg': 'required_message',
  'repeat count': 'repeat_count',
  'jr:count': 'repeat_count',
  'choice filter': 'choice_filter',
};
const mediaColumns = ['image', 'audio', 'video'];
const translated = ['label', 'hint', 'guidance_hint', 'constraint_message', 'required_message', ...mediaColumns];

/** One spelling of each column. A column of a language is `label::English (en)`. */
function normalizeRow(row: SheetRow): SheetRow {
  return Object.fromEntries(
    Object.entries(row).map(([head, text]) => {
      const plain = head.trim().replace(/^media\s*::?\s*/i, '');
      const [, name = plain, language] = /^(.+?)\s*::?\s*(.+)$/.exec(plain) ?? [];
      const own = name.trim().toLowerCase();
      if (language !== undefined && translated.includes(columnAliases[own] ?? own))
        return [`${columnAliases[own] ?? own}::${language.trim()}`, text];
      const whole = plain.toLowerCase().replace(/^bind::(?=(calculate|relevant|required|constraint|readonly)$)/, '');
      return [columnAliases[whole] ?? whole, text];
    }),
  );
}

const isYes = (text: string | undefined) => /^(yes|true|true\(\))$/i.test(text ?? '');
const isNo = (text: string | undefined) => /^(no|false|false\(\))$/i.test(text ?? '');

function readForm(survey: SheetRow[], choices: SheetRow[], language = 'default'): Form {
  const root: Item = { type: 'root', list: '', name: 'data', row: {}, path: '/data', parent: undefined, children: [] };
  const form: Form = { items: [], byName: new Map(), root, itext: new Map(), language, isTranslated: false };
  form.isTranslated = [...survey, ...choices].some((row) => Object.keys(row).some((head) => head.includes('::')));
  let open = root;
  const add = (type: string, list: string, row: SheetRow): Item => {
    const { name = type } = row;
    if (!/^[A-Za-z_][\w.-]*$/.test(name))
      throw new XlsFormFault(`"${name}" is not a name: it needs letters, digits, _, - and ., beginning with a letter`);
    if (open.children.some((child) => child.name === name))
      throw new XlsFormFault(`two questions of one group have the name ${name}`);
    const parent = typeOf(type)?.isMeta ? root : open;
    const path = typeOf(type)?.isMeta ? `/data/meta/${name}` : `${open.path}/${name}`;
    const item: Item = { type, list, name, row, path, parent, children: [] };
    open.children.push(item);
    form.items.push(item);
    form.byName.set(name, [...(form.byName.get(name) ?? []), item]);
    return item;
  };
  for (const row of survey) {
    const given = (row.type ?? '').trim().replace(/\s+/g, ' ');
    if (given === '' || isYes(row.disabled)) continue;
    const [, edge, kind] = /^(begin|end)[ _](group|repeat|loop)$/i.exec(given) ?? [];
    if (edge?.toLowerCase() === 'begin' && kind) {
      if (kind.toLowerCase() === 'repeat') addCount(form, row, add);
      open = add(kind.toLowerCase(), '', row);
    } else if (edge && kind) {
      if (open.type !== kind.toLowerCase() || !open.parent)
        throw new XlsFormFault(`"${given}" ends nothing that has begun: ${open.name} is open`);
      open = open.parent;
    } else addQuestion(given, row, add);
  }
  if (open !== root) throw new XlsFormFault(`the ${open.type} ${open.name} is not ended`);
  return form;
}

type Add = (type: string, list: string, row: SheetRow) => Item;

const selectType =
  /^(select[_ ]one|select[_ ]multiple|select1|rank)([_ ]from[_ ]file|[_ ]external)? (\S+)( or[_ ]other)?$/i;

function addQuestion(given: string, row: SheetRow, add: Add): void {
  const [whole, word = '', from = '', list = '', other] = selectType.exec(given) ?? [];
  if (whole !== undefined) {
    if (/external/i.test(from)) throw new XlsFormFault(`${row.name}: external choices are not supported`);
    const type = /multiple/i.test(word) ? 'select' : /rank/i.test(word) ? 'rank' : 'select1';
    const item = add(type, from ? list : `${list}${other ? ' or_other' : ''}`, row);
    if (!other) return;
    const { name } = item;
    const relevant = type === 'select1' ? `\${${name}} = 'other'` : `selected(\${${name}}, 'other')`;
    add('text', '', { name: `${name}_other`, label: 'Specify other.', relevant });
    return;
  }
  const type = given.toLowerCase();
  const known = typeAliases[type] ?? type;
  if (/^(xml|csv)-external$/.test(known)) return;
  if (!questionTypes[known]) throw new XlsFormFault(`${row.name ?? ''}: there is no type "${given}"`);
  add(known, '', row);
}

/** How often a repeat is asked: the path of a question, or of a value that is computed. */
function addCount({ byName }: Form, { name = '', repeat_count: count }: SheetRow, add: Add): void {
  if (count === undefined) return;
  const [, only] = /^\$\{\s*([^}]+?)\s*\}$/.exec(count) ?? [];
  if (only !== undefined && byName.has(only)) return;
  add('calculate', '', { name: `${name}_count`, calculation: count, readonly: 'yes' });
}

const typeOf = (type: string): QuestionType | undefined => questionTypes[type];

function textsOf(form: Form, row: SheetRow, field: string): Map<string, string> {
  const texts = new Map<string, string>();
  if (row[field] !== undefined) texts.set(form.language, row[field]);
  for (const [head, text] of Object.entries(row))
    if (head.startsWith(`${field}::`)) texts.set(head.slice(field.length + 2), text);
  return texts;
}

function keepTexts(form: Form, id: string, row: SheetRow, field: string, context: Item): boolean {
  const media = field === 'label' ? mediaColumns : [];
  const fields = field === 'hint' ? ['hint', 'guidance_hint'] : [field, ...media];
  let has = false;
  for (const each of fields) {
    for (const [language, text] of textsOf(form, row, each)) {
      const of = form.itext.get(language) ?? new Map<string, [string, string][]>();
      const isMedia = media.includes(each);
      const kind = each === 'guidance_hint' ? 'guidance' : isMedia ? each : '';
      const file = `jr://${each === 'image' ? 'images' : each}/${text}`;
      const value = isMedia ? toXml(file) : toMarkup(form, text, context);
      of.set(id, [...(of.get(id) ?? []), [kind, value]]);
      form.itext.set(language, of);
      has = true;
    }
  }
  return has;
}

function toText(form: Form, tag: 'label' | 'hint', item: Item): string {
  const { row, path } = item;
  const isKept = form.isTranslated || [...mediaColumns, 'guidance_hint'].some((each) => row[each] !== undefined);
  if (!isKept) return row[tag] === undefined ? '' : element(tag, {}, [toMarkup(form, row[tag], item)]);
  const id = `${path}:${tag}`;
  return keepTexts(form, id, row, tag, item) ? element(tag, { ref: `jr:itext('${id}')` }, []) : '';
}

function toItext({ itext, language }: Form): string {
  if (itext.size === 0) return '';
  const ids = new Set([...itext.values()].flatMap((texts) => [...texts.keys()]));
  const toValue = ([form, text]: [string, string]) => element('value', { form: form || undefined }, [text]);
  const translations = [...itext].map(([lang, texts]) => {
    const values = Array.from(ids, (id) => element('text', { id }, (texts.get(id) ?? [['', '-']]).map(toValue)));
    return element('translation', { lang, default: lang === language ? 'true()' : undefined }, values);
  });
  return element('itext', {}, translations);
}

const reference = /\$\{\s*([^}]+?)\s*\}/g;

function toMarkup(form: Form, text: string, context: Item): string {
  return toXml(text).replace(reference, (whole) => element('output', { value: toExpression(form, whole, context) }));
}

function toExpression(form: Form, source: string, context: Item, isPredicate = false): string {
  const isAbsolute = source.includes('indexed-repeat(');
  return source.replace(reference, (_, name: string) => {
    if (name.startsWith('last-saved#')) throw new XlsFormFault(`\${${name}}: last saved answers are not supported`);
    const [target, ...others] = form.byName.get(name) ?? [];
    if (!target) throw new XlsFormFault(`there is no question ${name}, which \${${name}} refers to`);
    if (others.length > 0) throw new XlsFormFault(`\${${name}} refers to more than one question`);
    return ` ${isAbsolute ? target.path : toPath(context, target, isPredicate)} `;
  });
}

const above = (item: Item | undefined): Item[] => (item ? [item, ...above(item.parent)] : []);

/** Inside one repeat the path is relative: it means the same round. */
function toPath(context: Item, target: Item, isPredicate: boolean): string {
  const own = new Set(above(context));
  const shared = above(target.parent).find((item) => item.type === 'repeat' && own.has(item));
  if (!shared || shared === target) return target.path;
  const up = '../'.repeat(above(context).indexOf(shared));
  const path = `${isPredicate ? 'current()/' : ''}${up}${target.path.slice(shared.path.length + 1)}`;
  return path.replace(/\/$/, '');
}

function toData(item: Item, isTemplate: boolean): string {
  const { type, name, row, children } = item;
  if (typeOf(type)?.isMeta) return '';
  const inner = children.map((child) => toData(child, isTemplate));
  if (type !== 'repeat') return element(name, {}, [...inner, isDynamic(row.default) ? '' : toXml(row.default ?? '')]);
  const first = children.map((child) => toData(child, false));
  return (isTemplate ? element(name, { 'jr:template': '' }, inner) : '') + element(name, {}, first);
}

const isDynamic = (text: string | undefined) => text !== undefined && (/\$\{/.test(text) || /^[\w-]+\(.*\)/.test(text));

function toSetValue(form: Form, item: Item): string {
  const { row, path } = item;
  const [, trigger] = /^\$\{\s*([^}]+?)\s*\}$/.exec(row.trigger ?? '') ?? [];
  if (trigger !== undefined || !isDynamic(row.default)) return '';
  const isRepeated = above(item.parent).some(({ type }) => type === 'repeat');
  const event = isRepeated ? 'odk-instance-first-load odk-new-repeat' : 'odk-instance-first-load';
  return element('setvalue', { event, ref: path, value: toExpression(form, row.default ?? '', item).trim() }, []);
}

const messages = { 'jr:constraintMsg': 'constraint_message', 'jr:requiredMsg': 'required_message' };

function toBind(form: Form, item: Item): string {
  const { type, row, path } = item;
  const own: Record<string, string> = { ...typeOf(type)?.bind };
  if (type.startsWith('select')) own.type = 'string';
  if (type === 'rank') own.type = 'odk:rank';
  if (type === 'range' && [row.parameters ?? ''].some((text) => /(start|end|step)\s*=\s*-?\d*\.\d*[1-9]/.test(text)))
    own.type = 'decimal';
  const rule = (name: string, source: string | undefined) => {
    if (source === undefined || isNo(source)) return;
    own[name] = isYes(source) ? 'true()' : toExpression(form, source, item).trim();
  };
  for (const name of ['required', 'relevant', 'readonly', 'constraint']) rule(name, row[name]);
  if (row.calculation !== undefined && row.trigger === undefined) rule('calculate', row.calculation);
  for (const [attribute, field] of Object.entries(messages)) {
    const id = `${path}:${attribute}`;
    const isKept = form.isTranslated && keepTexts(form, id, row, field, item);
    const text = isKept ? `jr:itext('${id}')` : row[field];
    if (text !== undefined) own[attribute] = text;
  }
  for (const [head, text] of Object.entries(row)) if (head.startsWith('bind::')) own[head.slice(6)] = text;
  if (Object.keys(own).length === 0) return '';
  return element('bind', { nodeset: path, ...own }, []);
}

interface List {
  xml: string;
  isTranslated: boolean;
}

function listsOf(form: Form, choices: SheetRow[]): Map<string, List> {
  const rows = Map.groupBy(choices, (row) => row.list_name ?? '');
  const named = form.items.flatMap(({ type, list }) =>
    /^(select1?|rank)$/.test(type) && !list.includes('.') ? [list] : [],
  );
  return new Map(
    [...new Set(named)].map((list) => {
      const [name = '', other] = list.split(' ');
      const own = rows.get(name);
      if (!own) throw new XlsFormFault(`the sheet "choices" has no list ${name}`);
      const all = other && !own.some((row) => row.name === 'other') ? [...own, { name: 'other', label: 'Other' }] : own;
      return [list, toList(form, name, all)];
    }),
  );
}

function toList(form: Form, name: string, rows: readonly SheetRow[]): List {
  const isTranslated = rows.some((row) => Object.keys(row).some((head) => /::|^(image|audio|video)$/.test(head)));
  const items = rows.map((row, i) => {
    const own = Object.entries(row).filter(
      ([head]) => /^[a-z_][\w.-]*$/i.test(head) && !['list_name', 'label', ...mediaColumns].includes(head),
    );
    const id = `${name}-${i}`;
    const label =
      isTranslated && keepTexts(form, id, row, 'label', form.root)
        ? element('itextId', {}, [id])
        : element('label', {}, [toXml(row.label ?? '')]);
    return element('item', {}, [label, ...own.map(([head, text]) => element(head, {}, [toXml(text)]))]);
  });
  return { isTranslated, xml: element('instance', { id: name }, [element('root', {}, items)]) };
}

function filesOf({ items }: Form): [id: string, src: string][] {
  const files = new Map<string, string>();
  for (const { list, row, type } of items) {
    const [, id = '', ending = ''] = /^(.+)\.(csv|xml|geojson)$/.exec(list) ?? [];
    if (/^(select1?|rank)$/.test(type) && id) files.set(id, `jr://file${ending === 'csv' ? '-csv' : ''}/${list}`);
    for (const source of [row.calculation, row.relevant, row.constraint, row.default])
      for (const [, , table = ''] of source?.matchAll(/pulldata\(\s*(['"])([^'"]+)\1/g) ?? [])
        files.set(table, `jr://file-csv/${table}.csv`);
  }
  return [...files];
}

function parametersOf({ parameters = '' }: SheetRow): Record<string, string> {
  const found = parameters.matchAll(/([\w-]+)\s*=\s*("[^"]*"|[^\s,;]+)/g);
  return Object.fromEntries(Array.from(found, ([, key = '', value = '']) => [key.toLowerCase(), value]));
}

function toBody(form: Form, item: Item, lists: ReadonlyMap<string, List>): string {
  const { type, row, path, children } = item;
  const { appearance } = row;
  const label = toText(form, 'label', item);
  const inner = children.map((child) => toBody(form, child, lists));
  if (type === 'group' || type === 'loop') return element('group', { ref: path, appearance }, [label, ...inner]);
  if (type === 'repeat') {
    const count = row.repeat_count === undefined ? undefined : countOf(form, item);
    const repeat = element('repeat', { nodeset: path, appearance, 'jr:count': count }, inner);
    return element('group', { ref: path }, [label, repeat]);
  }
  const texts = [label, toText(form, 'hint', item)];
  if (/^(select1?|rank)$/.test(type)) {
    const tag = type === 'rank' ? 'odk:rank' : type;
    return element(tag, { ref: path, appearance }, [...texts, toItemset(form, item, lists)]);
  }
  const { control, body } = typeOf(type) ?? {};
  if (!control) return '';
  const { start = '1', end = '10', step = '1' } = parametersOf(row);
  const attributes = type === 'range' ? { start, end, step } : body;
  return element(control, { ref: path, appearance, ...attributes }, texts);
}

function countOf(form: Form, item: Item): string {
  const count = `${item.name}_count`;
  const own = form.items.some(({ path }) => path === `${item.parent?.path}/${count}`);
  return toExpression(form, own ? `\${${count}}` : (item.row.repeat_count ?? ''), item).trim();
}

function toItemset(form: Form, item: Item, lists: ReadonlyMap<string, List>): string {
  const { list, row } = item;
  const [file] = list.split(' ');
  const isFile = list.includes('.');
  const id = isFile ? list.replace(/\.\w+$/, '') : file;
  const filter = row.choice_filter === undefined ? '' : `[${toExpression(form, row.choice_filter, item, true).trim()}]`;
  const all = `instance('${id}')/root/item${filter}`;
  const isGeo = list.endsWith('.geojson');
  const { randomize, seed, value = isGeo ? 'id' : 'name', label = isGeo ? 'title' : 'label' } = parametersOf(row);
  const seeded = seed === undefined ? '' : `, ${toExpression(form, seed, item).trim()}`;
  const nodeset = isYes(randomize) ? `randomize(${all}${seeded})` : all;
  const isTranslated = lists.get(list)?.isTranslated === true;
  return element('itemset', { nodeset }, [
    element('value', { ref: value }, []),
    element('label', { ref: isTranslated ? 'jr:itext(itextId)' : label }, []),
  ]);
}

const toXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function element(name: string, attributes: Record<string, string | undefined>, inner: readonly string[] = []): string {
  const own = Object.entries(attributes).map(([key, value]) =>
    value === undefined ? '' : ` ${key}="${toXml(value).replaceAll('"', '&quot;')}"`,
  );
  const content = inner.join('');
  return content === '' ? `<${name}${own.join('')}/>` : `<${name}${own.join('')}>${content}</${name}>`;
}
