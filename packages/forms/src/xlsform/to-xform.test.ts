// Our converter of XLSForms beside pyxform, which is the reference: the same form gives the same XForm, element by element.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createTempDir, makeWorkbook } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { readWorkbook } from './read-workbook.ts';
import { toXForm } from './to-xform.ts';

type Sheets = Record<string, (string | number | null)[][]>;
const forms = JSON.parse(readFileSync(join(import.meta.dirname, 'sample-forms.json'), 'utf8')) as Record<
  string,
  Sheets
>;
const convert = (sheets: Sheets) => toXForm({ fileName: 'form', sheets: readWorkbook(makeWorkbook(sheets)) });

interface XmlElement {
  localName: string;
  parentElement: XmlElement | null;
  attributes: Iterable<{ name: string; value: string }>;
  childNodes: Iterable<{ nodeType: number; textContent: string | null }>;
}
type ReadXml = new (
  xml: string,
  options: { contentType: string },
) => { window: { document: { querySelectorAll(selector: string): Iterable<XmlElement> } } };
// The package has no types.
const { JSDOM } = createRequire(import.meta.url)('jsdom') as { JSDOM: ReadXml };

/** Every element with its place, attributes and text. pyxform orders binds and secondary instances otherwise. */
function elementsOf(xml: string): string[] {
  const { document } = new JSDOM(xml, { contentType: 'text/xml' }).window;
  return [...document.querySelectorAll('*')].map((element) => {
    const above: string[] = [];
    for (let each = element.parentElement; each; each = each.parentElement) above.unshift(each.localName);
    const attributes = [...element.attributes].map(({ name, value }) => `${name}=${value.replace(/\s+/g, ' ').trim()}`);
    const text = [...element.childNodes].map(({ nodeType, textContent }) =>
      nodeType === 3 ? textContent?.trim() : '<>',
    );
    return [...above, element.localName, ...attributes.sort(), text.join('')].join(' ');
  });
}

const hasPyxform = spawnSync('xls2xform', ['--help']).status === 0;

test.for(Object.entries(forms))('the form %s is what pyxform makes of it', async ([, sheets], { skip }) => {
  const own = elementsOf(convert(sheets));
  expect(own.some((element) => element.includes('parsererror'))).toBe(false);
  expect(own.length).toBeGreaterThan(50);
  if (!hasPyxform) return skip('xls2xform is not on the PATH: pip install pyxform');
  await using dir = await createTempDir();
  const [input, output] = [join(dir.path, 'form.xlsx'), join(dir.path, 'form.xml')];
  const workbook = spawnSync('python3', ['-c', writeBook, input], { input: JSON.stringify(sheets), encoding: 'utf8' });
  expect(workbook.stderr).toBe('');
  spawnSync('xls2xform', ['--skip_validate', input, output]);
  expect(own.sort()).toEqual(elementsOf(readFileSync(output, 'utf8')).sort());
  // What a spreadsheet program has written reads as ours does.
  expect(readWorkbook(readFileSync(input))).toEqual(readWorkbook(makeWorkbook(sheets)));
});

const writeBook = `
import json, openpyxl, sys
book = openpyxl.Workbook()
book.remove(book.active)
for title, rows in json.load(sys.stdin).items():
    sheet = book.create_sheet(title)
    for row in rows:
        sheet.append(row)
book.save(sys.argv[1])
`;

test.each([
  ['no sheet named "survey"', {}],
  [
    'there is no type "texxt"',
    {
      survey: [
        ['type', 'name'],
        ['texxt', 'a'],
      ],
    },
  ],
  [
    'the sheet "choices" has no list yn',
    {
      survey: [
        ['type', 'name'],
        ['select_one yn', 'a'],
      ],
    },
  ],
  [
    'there is no question b',
    {
      survey: [
        ['type', 'name', 'label'],
        ['text', 'a', `\${b}`],
      ],
    },
  ],
  [
    'the repeat r is not ended',
    {
      survey: [
        ['type', 'name'],
        ['begin repeat', 'r'],
      ],
    },
  ],
  [
    'ends nothing that has begun',
    {
      survey: [
        ['type', 'name'],
        ['end group', ''],
      ],
    },
  ],
  [
    'two questions of one group',
    {
      survey: [
        ['type', 'name'],
        ['text', 'a'],
        ['note', 'a'],
      ],
    },
  ],
  [
    '"2nd" is not a name',
    {
      survey: [
        ['type', 'name'],
        ['text', '2nd'],
      ],
    },
  ],
  [
    'external choices are not supported',
    {
      survey: [
        ['type', 'name'],
        ['select_one_external a', 'b'],
      ],
    },
  ],
] as [string, Sheets][])('a form is refused with its reason: %s', (reason, sheets) => {
  expect(() => convert({ other: [], ...sheets })).toThrow(reason);
});

test('what is no workbook, or unpacks to too much, is refused', () => {
  expect(() => readWorkbook(new Uint8Array([1, 2, 3]))).toThrow('it is not an Excel workbook');
  const large = makeWorkbook({ survey: [['x'.repeat(21_000_000)]] });
  expect(large.length).toBeLessThan(100_000);
  expect(() => readWorkbook(large)).toThrow('it unpacks to too much');
});
