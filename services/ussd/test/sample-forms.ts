// Small forms, one feature of ODK XForms each, in the shape in which pyxform writes them. They are data, so they share one file.

export interface Sample {
  /** Elements of the instance. */
  data: string;
  binds?: string;
  body: string;
  /** Secondary instances. */
  more?: string;
  attachments?: Record<string, string>;
  itext?: string;
}

const item = (name: string, label = name) => `<item><name>${name}</name><label>${label}</label></item>`;
const instance = (id: string, ...items: string[]) => `<instance id="${id}"><root>${items.join('')}</root></instance>`;
const choices = (id: string, where = '') =>
  `<itemset nodeset="instance('${id}')/root/item${where}"><value ref="name"/><label ref="label"/></itemset>`;
const bind = (name: string, attributes: string) => `<bind nodeset="/data/${name}" ${attributes}/>`;
const input = (name: string, label = `${name}?`) => `<input ref="/data/${name}"><label>${label}</label></input>`;
const group = (name: string, label: string, body: string) =>
  `<group ref="/data/${name}"><label>${label}</label>${body}</group>`;
const repeat = (name: string, label: string, body: string, attributes = '') =>
  `<group ref="/data/${name}"><label>${label}</label><repeat nodeset="/data/${name}" ${attributes}>${body}</repeat></group>`;
const select1 = (name: string, list: string) => `<select1 ref="/data/${name}"><label>${name}?</label>${list}</select1>`;
const select = (name: string, list: string) => `<select ref="/data/${name}"><label>${name}?</label>${list}</select>`;
const yesNo = instance('yn', item('yes', 'Yes'), item('no', 'No'));

export const samples: Record<string, Sample> = {
  text: { data: '<a/>', binds: bind('a', 'type="string" required="true()"'), body: input('a') },
  'text with a pattern': {
    data: '<a/>',
    binds: bind('a', `type="string" constraint="regex(., '^[A-Z]{3}-[0-9]{3}$')" jr:constraintMsg="Like ABC-123"`),
    body: input('a'),
  },
  'text with a length': {
    data: '<a/>',
    binds: bind('a', 'type="string" constraint="string-length(.) &lt; 4"'),
    body: input('a'),
  },
  integer: { data: '<a/>', binds: bind('a', 'type="int" constraint=". &gt;= 0 and . &lt;= 30"'), body: input('a') },
  decimal: {
    data: '<a/>',
    binds: bind('a', 'type="decimal" constraint=". &gt; 10.51 and . &lt; 18.39"'),
    body: input('a'),
  },
  'a limit that is another answer': {
    data: '<a/><b/>',
    binds: bind('a', 'type="int"') + bind('b', 'type="decimal" constraint=". &lt;= /data/a"'),
    body: input('a') + input('b'),
  },
  'required note that is always shown': {
    data: '<a/><n/><g><o/><b/></g>',
    binds:
      ['n', 'g/o'].map((name) => bind(name, 'type="string" readonly="true()" required="true()"')).join('') +
      bind('g', 'relevant="string-length(/data/a) &gt; 0"'),
    body: input('a') + input('n', 'Read this') + group('g', 'More', input('g/o', 'And this') + input('g/b')),
  },
  'choices that begin with what is typed': {
    data: '<s/><a/>',
    binds: bind('s', 'type="string" required="true()"') + bind('a', 'type="string" required="true()"'),
    body: input('s') + select1('a', choices('crops', '[starts-with(name, /data/s)]')),
    more: instance('crops', item('banana'), item('beans')),
  },
  date: { data: '<a/>', binds: bind('a', 'type="date" constraint=". &gt; today()"'), body: input('a') },
  time: { data: '<a/>', binds: bind('a', 'type="time"'), body: input('a') },
  'date and time': { data: '<a/>', binds: bind('a', 'type="dateTime"'), body: input('a') },
  'select one': {
    data: '<a/>',
    binds: bind('a', 'type="string" required="true()"'),
    body: select1('a', choices('yn')),
    more: yesNo,
  },
  'select one in place': {
    data: '<a/>',
    body: select1(
      'a',
      '<item><label>One</label><value>1</value></item><item><label>Two</label><value>2</value></item>',
    ),
  },
  'select multiple': {
    data: '<a/>',
    binds: bind('a', `type="string" constraint="not(selected(., 'yes') and selected(., 'no'))"`),
    body: select('a', choices('yn')),
    more: yesNo,
  },
  'how many were selected': {
    data: '<a/>',
    binds: bind('a', 'type="string" constraint="count-selected(.) = 2"'),
    body: select('a', choices('crops')),
    more: instance('crops', item('maize'), item('beans'), item('rice')),
  },
  'choices with a filter': {
    data: '<a/><b/>',
    body: select1('a', choices('places', "[of='']")) + select1('b', choices('places', '[of = /data/a]')),
    more: instance(
      'places',
      '<item><name>n</name><label>North</label><of/></item>',
      '<item><name>s</name><label>South</label><of/></item>',
      '<item><name>n1</name><label>North one</label><of>n</of></item>',
      '<item><name>s1</name><label>South one</label><of>s</of></item>',
    ),
  },
  'choices of a CSV file': {
    data: '<a/>',
    body: select1('a', choices('towns')),
    more: '<instance id="towns" src="jr://file-csv/towns.csv"/>',
    attachments: { 'towns.csv': `name,label\n${Array.from({ length: 30 }, (_, i) => `t${i},Town ${i}`).join('\n')}\n` },
  },
  'choices of a GeoJSON file': {
    data: '<a/>',
    body: select1(
      'a',
      `<itemset nodeset="instance('wells')/root/item"><value ref="id"/><label ref="title"/></itemset>`,
    ),
    more: '<instance id="wells" src="jr://file/wells.geojson"/>',
    attachments: {
      'wells.geojson': JSON.stringify({
        type: 'FeatureCollection',
        features: ['one', 'two'].map((id, i) => ({
          type: 'Feature',
          id,
          geometry: { type: 'Point', coordinates: [34 + i, 0] },
          properties: { title: `Well ${id}` },
        })),
      }),
    },
  },
  'choices that are answers': {
    data: '<m><name/></m><a/>',
    body:
      repeat('m', 'Member', input('m/name', 'Name?')) +
      `<select1 ref="/data/a"><label>Who?</label><itemset nodeset="/data/m[./name != '']"><value ref="name"/><label ref="name"/></itemset></select1>`,
  },
  'choices without texts': {
    data: '<a/>',
    body: select1(
      'a',
      `<itemset nodeset="instance('faces')/root/item"><value ref="name"/><label ref="jr:itext(id)"/></itemset>`,
    ),
    more: '<instance id="faces"><root><item><name>happy</name><id>f1</id></item><item><name>sad</name><id>f2</id></item></root></instance>',
    itext:
      '<translation lang="en"><text id="f1"><value form="image">jr://images/happy.jpg</value></text><text id="f2"><value form="image">jr://images/sad.jpg</value></text></translation>',
  },
  'choices that some answers leave empty': {
    data: '<a/><b/>',
    binds: bind('a', 'type="string" required="true()"') + bind('b', 'type="string" required="true()"'),
    body: select1('a', choices('areas', "[of = '']")) + select1('b', choices('areas', '[of = /data/a]')),
    more: instance(
      'areas',
      '<item><name>n</name><label>North</label><of/></item>',
      '<item><name>s</name><label>South</label><of/></item>',
      '<item><name>n1</name><label>North one</label><of>n</of></item>',
    ),
  },
  'table with a head': {
    data: '<t><head/><a/><b/></t>',
    binds: bind('t/a', 'type="string" required="true()"'),
    body: group(
      't',
      'Mood',
      `<select1 ref="/data/t/head" appearance="label"><label/>${choices('yn')}</select1>` +
        select1('t/a', choices('yn')) +
        select1('t/b', choices('yn')),
    ),
    more: yesNo,
  },
  'default that the form refuses': {
    data: '<a>2010-06-15</a><b>99</b>',
    binds:
      bind('a', 'type="date" constraint=". &gt; today()" jr:constraintMsg="A day to come"') +
      bind('b', 'type="int" constraint=". &lt; 10" required="true()"'),
    body: input('a') + input('b'),
  },
  rank: {
    data: '<a/>',
    binds: bind('a', 'type="odk:rank"'),
    body: `<odk:rank ref="/data/a"><label>Order?</label>${choices('needs')}</odk:rank>`,
    more: instance('needs', item('water'), item('road'), item('school')),
  },
  'range of whole numbers': {
    data: '<a/>',
    binds: bind('a', 'type="int"'),
    body: '<range ref="/data/a" start="1" end="5" step="1"><label>a?</label></range>',
  },
  'range of decimals': {
    data: '<a/>',
    binds: bind('a', 'type="decimal"'),
    body: '<range ref="/data/a" start="-2.0" end="2.0" step="0.5"><label>a?</label></range>',
  },
  acknowledge: {
    data: '<a/>',
    binds: bind('a', 'type="string" required="true()"'),
    body: '<trigger ref="/data/a"><label>We keep it.</label></trigger>',
  },
  note: {
    data: '<a/><b/>',
    binds: bind('b', 'type="string" readonly="true()"'),
    body: input('a') + input('b', 'Hello <output value="/data/a"/>'),
  },
  'note that forbids some answers': {
    data: '<a/><n/>',
    binds:
      bind('a', 'type="string"') +
      bind('n', 'type="string" readonly="true()" required="true()" relevant="/data/a = \'yes\'"'),
    body: select1('a', choices('yn')) + input('n', 'Not with yes.'),
    more: yesNo,
  },
  'default and calculation': {
    data: '<a>3</a><b/><c/>',
    binds:
      bind('a', 'type="int"') +
      bind('b', 'type="int" calculate="/data/a * 2"') +
      bind('c', 'readonly="true()" type="string"'),
    body: input('a') + input('c', 'Twice: <output value="/data/b"/>'),
  },
  'calculation that is required and empty': {
    data: '<a/><b/>',
    binds:
      bind('a', 'type="string"') + bind('b', 'type="int" calculate="\'\'" required="true()" constraint=". &gt; 5"'),
    body: input('a'),
  },
  'default that is computed': {
    data: '<a/>',
    binds: `${bind('a', 'type="date"')}<setvalue ref="/data/a" event="odk-instance-first-load" value="today()"/>`,
    body: input('a'),
  },
  'required where another answer says so': {
    data: '<a/><b/>',
    binds: bind('b', `type="string" required="/data/a = 'yes'" jr:requiredMsg="Say why"`),
    body: select1('a', choices('yn')) + input('b'),
    more: yesNo,
  },
  'relevant question': {
    data: '<a/><b/>',
    binds:
      bind('a', 'type="string" required="true()"') +
      bind('b', `type="int" relevant="/data/a = 'yes'" required="true()"`),
    body: select1('a', choices('yn')) + input('b'),
    more: yesNo,
  },
  'relevant group in a group': {
    data: '<a/><g><h><b/></h></g>',
    binds: bind('g', `relevant="/data/a = 'yes'"`) + bind('g/h/b', 'type="int"'),
    body: select1('a', choices('yn')) + group('g', 'Outer', group('g/h', 'Inner', input('g/h/b'))),
    more: yesNo,
  },
  'field list': {
    data: '<g><a/><b/></g>',
    body: `<group ref="/data/g" appearance="field-list"><label>Both</label>${input('g/a')}${input('g/b')}</group>`,
  },
  repeat: {
    data: '<m><name/><age/></m>',
    binds: bind('m/age', 'type="int"'),
    body: repeat('m', 'Member', input('m/name') + input('m/age')),
  },
  'repeat with a count': {
    data: '<n/><m><name/></m>',
    binds: bind('n', 'type="int" constraint=". &gt;= 0 and . &lt; 5" required="true()"'),
    body: input('n') + repeat('m', 'Member', input('m/name'), 'jr:count="/data/n"'),
  },
  'repeat with a count that is computed': {
    data: '<n/><m_count/><m><name/></m>',
    binds:
      bind('n', 'type="int" required="true()"') +
      bind('m_count', 'type="string" readonly="true()" calculate="/data/n + 1"'),
    body: input('n') + repeat('m', 'Member', input('m/name'), 'jr:count="/data/m_count"'),
  },
  'repeats with counts in repeats': {
    data: '<n/><p><m/><q><a/></q></p>',
    binds: bind('n', 'type="int"') + bind('p/m', 'type="int"') + bind('p/q/a', 'type="string"'),
    body:
      input('n') +
      repeat('p', 'P', input('p/m') + repeat('p/q', 'Q', input('p/q/a'), 'jr:count="../m"'), 'jr:count="/data/n"'),
  },
  'repeat in a repeat': {
    data: '<m><name/><c><toy/></c></m>',
    body: repeat('m', 'Child', input('m/name') + repeat('m/c', 'Toy', input('m/c/toy'))),
  },
  'sums over a repeat': {
    data: '<m><acres/></m><total/><shown/>',
    binds:
      bind('m/acres', 'type="decimal"') +
      bind('total', 'type="decimal" calculate="sum(/data/m/acres)"') +
      bind('shown', 'readonly="true()" type="string"'),
    body: repeat('m', 'Plot', input('m/acres')) + input('shown', 'Acres: <output value="/data/total"/>'),
  },
  'position and indexed-repeat': {
    data: '<m><no/><name/></m><first/><shown/>',
    binds:
      bind('m/no', 'type="int" calculate="position(..)"') +
      bind('first', 'type="string" calculate="indexed-repeat(/data/m/name, /data/m, 1)"') +
      bind('shown', 'readonly="true()" type="string"'),
    body:
      repeat('m', 'Member', input('m/name', 'Name of <output value="../no"/>?')) +
      input('shown', 'First: <output value="/data/first"/>'),
  },
  'functions of dates and texts': {
    data: '<born/><age/><code/><shown/>',
    binds:
      bind('born', 'type="date"') +
      bind('age', 'type="int" calculate="int((today() - /data/born) div 365.25)"') +
      bind(
        'code',
        `type="string" calculate="concat('A', coalesce(/data/age, '?'), if(/data/age &gt; 17, 'adult', 'child'))"`,
      ) +
      bind('shown', 'readonly="true()" type="string"'),
    body: input('born') + input('shown', '<output value="/data/code"/>'),
  },
  'pulled from a CSV file': {
    data: '<a/><price/><shown/>',
    binds:
      bind('price', `type="string" calculate="instance('prices')/root/item[name = /data/a]/price"`) +
      bind('shown', 'readonly="true()" type="string"'),
    body: select1('a', choices('prices')) + input('shown', 'Price <output value="/data/price"/>'),
    more: '<instance id="prices" src="jr://file-csv/prices.csv"/>',
    attachments: { 'prices.csv': 'name,label,price\nmaize,Maize,42\nbeans,Beans,90\n' },
  },
  'two languages': {
    data: '<a/>',
    body: '<input ref="/data/a"><label ref="jr:itext(\'a\')"/><hint ref="jr:itext(\'h\')"/></input>',
    itext:
      '<translation lang="English (en)" default="true()"><text id="a"><value>Name?</value></text><text id="h"><value>In full</value></text></translation>' +
      '<translation lang="Français (fr)"><text id="a"><value>Nom ?</value></text><text id="h"><value>En entier</value></text></translation>',
  },
  'photo, place and signature that may be missing': {
    data: '<p/><g/><s/><a/>',
    binds: bind('p', 'type="binary"') + bind('g', 'type="geopoint"') + bind('s', 'type="binary"'),
    body:
      '<upload ref="/data/p" mediatype="image/*"><label>Photo</label></upload>' +
      input('g') +
      '<upload ref="/data/s" mediatype="image/*" appearance="signature"><label>Sign</label></upload>' +
      input('a'),
  },
  'hidden values of the device': {
    data: '<start/><end/><phone/><a/>',
    binds:
      bind('start', 'jr:preload="timestamp" type="dateTime" jr:preloadParams="start"') +
      bind('end', 'jr:preload="timestamp" type="dateTime" jr:preloadParams="end"') +
      bind('phone', 'jr:preload="property" type="string" jr:preloadParams="phonenumber"'),
    body: input('a'),
  },
  'labels with marks': {
    data: '<a/>',
    body: input('a', '## Title\n**Bold** [link](https://example.org) &lt;b&gt;tag&lt;/b&gt;'),
  },
  'once and random': {
    data: '<a/><b/>',
    binds: bind('a', 'type="string" calculate="once(random())"'),
    body: input('b'),
  },
};

export function toXForm({ data, binds = '', body, more = '', itext = '' }: Sample): string {
  const texts = itext === '' ? '' : `<itext>${itext}</itext>`;
  return `<?xml version="1.0"?>
<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml" xmlns:jr="http://openrosa.org/javarosa" xmlns:orx="http://openrosa.org/xforms" xmlns:odk="http://www.opendatakit.org/xforms">
<h:head><h:title>Sample</h:title><model odk:xforms-version="1.0.0">${texts}
<instance><data id="sample" version="1">${data}<meta><instanceID/></meta></data></instance>
${more}
${binds}<bind nodeset="/data/meta/instanceID" type="string" readonly="true()" jr:preload="uid"/>
</model></h:head>
<h:body>${body}</h:body></h:html>`;
}
