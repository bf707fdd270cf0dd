import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startService } from '../../test/service-fixture.ts';
import { parseAdapter } from './load-adapters.ts';
import { readXml } from './xml.ts';

const good = `name: mine
title: Mine
path: /api/ussd/mine
request:
  format: xml
  session: call.id
  number: { at: call.from, plus: added }
  code: { is: "*384*7#" }
  input: { newest: call.text }
  first: { at: call@new, is: yes }
reply:
  format: xml
  continue: <screen more="1" id="{request.call.id}">{reply}</screen>
  end: <screen more="0">{reply}</screen>
auth:
  basic: { user: gateway, password: BASIC }
  signature: { header: X-Signature, secret: SIGNING, prefix: "sha256=" }
allow: [127.0.0.1/32]
timeLimit: 8s
`;
const secrets = { BASIC: 'opensesame', SIGNING: 'signing-key' };

test.each([
  ['first: { at: call@new, is: yes }', 'start: x', 'mine.yaml:10: request: there is no field start here'],
  [
    '  first: { at: call@new, is: yes }\n',
    '',
    'mine.yaml:9: a gateway that sends only the newest input needs request.first',
  ],
  [
    'id="{request.call.id}"',
    'id="{call.id}"',
    'mine.yaml:13: {call.id} is not known here; it is {reply} or {request.call.id}',
  ],
  ['<screen more="0">{reply}</screen>', 'bye', 'mine.yaml:14: says nowhere where the screen goes'],
  ['session: call.id', 'session: path:call', 'mine.yaml:6: path has no :call; add it there'],
  [
    '  format: xml\n  session',
    '  format: yaml\n  session',
    'mine.yaml:5: request.format: must be one of json, form, xml, query or a list',
  ],
  ['SIGNING,', 'OTHER,', 'mine.yaml:17: the secret OTHER has no value; set USSD_ADAPTER_SECRET_OTHER'],
  ['127.0.0.1/32', 'here', 'mine.yaml:18: allow: must be addresses or CIDR ranges'],
  ['timeLimit: 8s', 'timeLimit: 8', 'mine.yaml:19: timeLimit: a time such as 8s'],
  ['timeLimit: 8s', 'repeatWithin: 8s', 'mine.yaml:19: there is no field repeatWithin here; it is a field of request'],
  [
    'session: call.id',
    'session: id',
    'mine.yaml:6: a place in XML begins with the root element, which is the same for all: call.id',
  ],
  ['newest: call.text', 'newest: ussd.text', 'mine.yaml:9: a place in XML begins with the root element'],
  ['code: { is: "*384*7#" }', 'code: *384*7#', 'mine.yaml:8: *384*7#: aliases are not read. Put quotes around'],
  ['code: { is: "*384*7#" }', 'code: "*384*7#"', 'mine.yaml:8: is a place of the request; write { is: "*384*7#" }'],
  ['plus: added', 'plus: yes', 'mine.yaml:7: request.number.plus: must be one of added'],
  ['{ newest: call.text }', '{ newest: a, old: b }', 'mine.yaml:9: request.input: there is no field old here'],
  ['path: /api/ussd/mine', 'path: mine', 'mine.yaml:3: path: a path such as /ussd/callback or /api/ussd/mine'],
  ['  format: xml\n  session', '  method: GET\n  format: xml\n  session', 'mine.yaml:6: a GET request has no body'],
])('%s as %s is a fault with its line', (from, to, fault) => {
  expect(good).toContain(from);
  const check = parseAdapter('mine.yaml', good.replace(from, to), secrets);
  const faults = check.ok ? [] : check.faults.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  expect(faults).toEqual([expect.stringContaining(fault)]);
});

test('XML is read by local names; documents that define entities or never end are refused', () => {
  expect(readXml('<a:x xmlns:a="urn:a"><b c="1">2 &amp; 3</b><b>4</b><d><![CDATA[<5>]]></d></a:x>')).toEqual({
    x: { 'b@c': '1', b: '2 & 3', d: '<5>' },
  });
  const bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>';
  for (const body of [bomb, '<x>&y;</x>', '<x>', '<x></y>', '', 'text', '<x>'.repeat(100) + '</x>'.repeat(100)])
    expect(readXml(body)).toBeUndefined();
});

test('a mapping of an author: authentication, signature, addresses, and a module of its own', async () => {
  await using dir = await createTempDir();
  writeFileSync(join(dir.path, 'mine.yaml'), good);
  writeFileSync(
    join(dir.path, 'own.mjs'),
    `export const adapter = {
      name: 'own', title: 'Own', path: '/api/ussd/own/:call', methods: ['POST'], contentTypes: ['text/plain'],
      read: ({ params }, body) => ({ sessionId: params.call, phoneNumber: '+254700000009', serviceCode: '*384*7#', text: body }),
      write: (_, reply) => ({ contentType: 'text/plain', body: reply.toUpperCase() }),
    };`,
  );
  await using service = await startService('sqlite', {
    USSD_ADAPTERS: `${dir.path}/mine.yaml,${dir.path}/own.mjs`,
    USSD_ADAPTER_SECRET_BASIC: secrets.BASIC,
    USSD_ADAPTER_SECRET_SIGNING: secrets.SIGNING,
    // Not for adapters that say who may call.
    USSD_SHARED_SECRET: 'hush',
  });
  const send = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${service.url}/api/ussd/mine`, {
      method: 'POST',
      headers: {
        'content-type': 'text/xml',
        authorization: `Basic ${btoa(`gateway:${secrets.BASIC}`)}`,
        'x-signature': `sha256=${createHmac('sha256', secrets.SIGNING).update(body).digest('hex')}`,
        ...headers,
      },
      body,
    });
  const first = '<call new="yes"><id>x &lt; 1</id><from>254700000001</from><text/></call>';
  expect(await (await send(first.replace('x &lt; 1', 'x&lt;1'))).text()).toMatch(
    /^<screen more="1" id="x&lt;1">Welcome to Palaver\n1\. About/,
  );
  const later = '<call new="no"><id>x&lt;1</id><from>254700000001</from><text>*</text></call>';
  expect((await send(later, { authorization: 'Basic eDp5' })).status).toBe(403);
  expect((await send(later, { 'x-signature': 'sha256=00' })).status).toBe(403);
  expect(await (await send(later)).text()).toBe('<screen more="0">Thank you for using Palaver. Goodbye.</screen>');
  expect(await (await send('<call>')).text()).toBe('<screen more="0">Invalid input. Please try again.</screen>');

  const own = (secret: string) =>
    fetch(`${service.url}/api/ussd/own/1`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', 'x-gateway-secret': secret },
      body: '',
    });
  expect((await own('')).status).toBe(403);
  expect(await (await own('hush')).text()).toMatch(/^CON WELCOME TO PALAVER/);
});

test('the mapping of the guide: numbered requests, hang-ups, a signature', async () => {
  const guide = readFileSync(new URL('../../../../docs/ussd-adapters.md', import.meta.url), 'utf8');
  const [, mapping = ''] = /```yaml\n(name: mine[^`]*)```/.exec(guide) ?? [];
  expect(mapping).toContain('sequence: number');
  await using dir = await createTempDir();
  writeFileSync(join(dir.path, 'mine.yaml'), mapping.replace('path: /api/ussd/mine', 'path: /ussd/call.back'));
  await using service = await startService('sqlite', {
    USSD_ADAPTERS: join(dir.path, 'mine.yaml'),
    USSD_ADAPTER_SECRET_MINE: 'signing-key',
  });
  const send = async (event: string, number: number, text: string) => {
    const fields = { session: { id: 42 }, from: '254700000001', shortCode: '1234', event, number, text };
    const body = JSON.stringify(fields);
    const response = await fetch(`${service.url}/ussd/call.back`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-signature': createHmac('sha256', 'signing-key').update(body).digest('hex'),
      },
      body,
    });
    return response.text();
  };
  expect(JSON.parse(await send('start', 1, '*1234#'))).toEqual({
    session: 42,
    text: expect.stringMatching(/^Welcome to Palaver/),
    close: false,
  });
  await send('input', 2, '2');
  for (const number of [3, 3, 2]) expect(await send('input', number, '1')).toContain('What is your name?');
  expect(await send('start', 1, '*1234#')).toContain('What is your name?');
  // Gateways give numbers in any order, and ids that only differ.
  expect(await send('input', 0, 'Ana')).toContain('Choose a PIN');
  // The same input with the next number is a new one.
  for (const number of [5, 6]) expect(await send('input', number, '730915')).toContain(number === 5 ? 'again' : 'Ana!');
  expect(await send('stop', 7, '')).toBe('');
  expect(await send('input', 8, '1')).toContain('Invalid input');
});

test('faults of adapters stop the start, and nobody takes the path of the specification', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'mine.yaml');
  const start = () => startService('sqlite', { USSD_ADAPTERS: file }).then(String, String);
  writeFileSync(file, good);
  expect(await start()).toContain('mine.yaml:16: the secret BASIC has no value');
  writeFileSync(file, good.replace(/auth:.*/s, '').replace('/api/ussd/mine', '/api/ussd'));
  expect(await start()).toContain('the path /api/ussd is that of africas-talking alone');
  writeFileSync(file, good.replace(/auth:.*/s, '').replace('/api/ussd/mine', '/api/ussd/push'));
  expect(await start()).toMatch(/a path of USSD_ADAPTERS is one of the gateway's own: .*\/api\/ussd\/push/);
  const query = good
    .replace(/auth:.*/s, '')
    .replace('  format: xml\n  session', '  method: GET\n  format: query\n  session');
  writeFileSync(file, query.replace('/api/ussd/mine', '/health'));
  expect(await start()).toMatch(/a path of USSD_ADAPTERS is one of the gateway's own: .*\/health/);
});

test('separators, headers of replies, namespaces and attributes are fields of a mapping', async () => {
  await using dir = await createTempDir();
  const ends = `reply:
  format: text
  headers: { Freeflow: { continue: FC, end: FB } }
  continue: "{reply}"
  end: "{reply}"
`;
  const request = (more: string) =>
    `request:\n  session: sid\n  number: { at: from, plus: added }\n  code: { at: code, marks: added }\n${more}`;
  writeFileSync(
    join(dir.path, 'form.yaml'),
    `name: hashes\ntitle: Hashes\npath: /hashes\n${request("  format: form\n  input: { accumulated: all, separator: '#' }\n")}${ends}`,
  );
  writeFileSync(
    join(dir.path, 'get.yaml'),
    `name: get\ntitle: Get\npath: /get\n${request('  method: GET\n  format: query\n  input: { newest: text }\n  first: { at: new, is: 1 }\n')}${ends}`,
  );
  await using service = await startService('sqlite', { USSD_ADAPTERS: `${dir.path}/form.yaml,${dir.path}/get.yaml` });
  const show = async (response: Response) => [
    response.headers.get('freeflow'),
    (await response.text()).split('\n')[0] ?? '',
  ];
  const post = async (all: string) => {
    const body = new URLSearchParams({ sid: 'a', from: '254700000001', code: '1234', all });
    return show(await fetch(`${service.url}/hashes`, { method: 'POST', body }));
  };
  expect(await post('')).toEqual(['FC', 'Welcome to Palaver']);
  expect(await post('2#1')).toEqual(['FC', 'What is your name?']);
  expect(await post('2#1#*')).toEqual(['FB', 'Thank you for using Palaver. Goodbye.']);
  const get = async (query: string) =>
    show(await fetch(`${service.url}/get?sid=b&from=254700000001&code=1234&text=${query}`));
  expect(await get('&new=1')).toEqual(['FC', 'Welcome to Palaver']);
  expect(await get('*&new=0')).toEqual(['FB', 'Thank you for using Palaver. Goodbye.']);
  expect(await get('1&new=0&sid=c')).toEqual(['FB', 'Invalid input. Please try again.']);
});

test('whatever stands where a text belongs, the caller gets a reply', async () => {
  await using dir = await createTempDir();
  writeFileSync(
    join(dir.path, 'mine.yaml'),
    `name: mine
title: Mine
path: /mine
request:
  format: [json, xml]
  session: call.id
  number: call.from
  code: { is: "*1234#" }
  input: { newest: call.text }
  first: { at: call.new, is: true }
  hangUp: { at: call.over, is: true }
reply:
  format: json
  continue: { id: "{request.call.id}", all: "of {request.call.id}", text: "{reply}" }
  end: { id: "{request.call.id}", all: "of {request.call.id}", text: "{reply}" }
`,
  );
  await using service = await startService('sqlite', { USSD_ADAPTERS: join(dir.path, 'mine.yaml') });
  const send = async (type: string, body: string) => {
    const headers = { 'content-type': `application/${type}` };
    const response = await fetch(`${service.url}/mine`, { method: 'POST', headers, body });
    return { status: response.status, reply: await response.text() };
  };
  const deep = `${'['.repeat(8_000)}${']'.repeat(8_000)}`;
  for (const id of [deep, '{"toString":1}', '[{"toString":1}]', '{"__proto__":null}', 'null', 'true', '1e400'])
    for (const over of [false, true]) {
      const { status, reply } = await send('json', `{"call":{"id":${id},"new":true,"over":${over}}}`);
      expect([status, over || (JSON.parse(reply) as { text: string }).text]).toEqual([
        200,
        over || 'Invalid input. Please try again.',
      ]);
    }
  const { status, reply } = await send('xml', '<call><id><a>1</a></id><new>true</new></call>');
  expect([status, JSON.parse(reply)]).toEqual([200, expect.objectContaining({ all: 'of ' })]);
});
