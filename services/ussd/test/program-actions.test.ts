// A program with prices, a savings group, a survey and vouchers, written in YAML alone: lists, records, HTTP look-ups.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { startAgent } from './agent-fixture.ts';
import { startService, type TestService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const program = (origin: string) => ({
  'program.yaml': `
name: field
codes: ["*384*7#"]
extends: palaver
languages: [en]
start: home
secrets: [PRICES_TOKEN]
records:
  deposit: { amount: decimal, week: date, member: phone }
  survey: { people: integer, goats: integer, crops: text, roof: text, visited: date }
  voucher: { code: text, used: boolean }
states:
  home:
    kind: menu
    text: home.title
    options:
      - { text: home.prices, to: market }
      - { text: home.deposit, to: amount }
      - { text: home.balance, to: deposits }
      - { text: home.survey, to: people }
      - { text: home.voucher, to: vouchers }
`,
  'prices.yaml': `
states:
  market: { kind: menu, text: prices.market, from: { csv: data/markets.csv, text: name, save: { market: id } }, to: price }
  price:
    kind: action
    http:
      get: "${origin}/v1/{market}"
      headers: { authorization: "Bearer {secrets.PRICES_TOKEN}" }
      timeout: 3s
    take: { price: $.latest.price, day: $.latest.date, prices: $.all }
    outcomes: { ok: pricePage, missing: noPrice, failed: later }
  pricePage: { kind: page, text: prices.page, options: [{ text: prices.all, to: allPrices }] }
  allPrices: { kind: menu, text: prices.all, from: { list: prices, text: crop, save: { crop: crop, cropPrice: price } }, to: cropPage }
  cropPage: { kind: page, text: prices.crop }
  noPrice: { kind: page, text: prices.none }
  later: { kind: page, text: prices.later }
`,
  'savings.yaml': `
states:
  amount: { kind: prompt, text: deposit.amount, type: decimal, min: 50, max: 100000, check: { that: answer % 10 == 0, hint: deposit.tens }, save: amount, to: confirm }
  confirm: { kind: menu, text: deposit.confirm, options: [{ text: yes, to: keep }, { text: no, to: home }] }
  keep: { kind: action, store: deposit, fields: { amount: amount, week: today, member: caller.phone }, outcomes: { stored: deposits } }
  deposits: { kind: action, find: deposit, save: mine, outcomes: { found: total, none: nothing } }
  total: { kind: set, values: { saved: 'sum(mine.map(m, m.amount))', count: size(mine) }, to: rank }
  rank: { kind: branch, when: [{ that: saved >= 1000, to: bigSaver }], else: saver }
  bigSaver: { kind: page, text: deposit.big }
  saver: { kind: page, text: deposit.saved }
  nothing: { kind: page, text: deposit.nothing }
`,
  'survey.yaml': `
states:
  people: { kind: prompt, text: survey.people, type: integer, min: 0, max: 30, save: people, to: goats }
  goats: { kind: prompt, text: survey.goats, type: integer, optional: true, when: people > 0, save: goats, to: crops }
  crops: { kind: prompt, text: survey.crops, type: choices, options: [{ text: survey.maize, value: maize }, { text: survey.beans, value: beans }], when: people > 0, save: crops, to: roof }
  roof: { kind: prompt, text: survey.roof, type: choice, optional: true, options: [{ text: survey.iron, value: iron }, { text: survey.grass, value: grass }], save: roof, to: visited }
  visited: { kind: prompt, text: survey.visited, type: date, max: today, save: visited, to: keepSurvey }
  keepSurvey: { kind: action, store: survey, fields: { people: people, goats: goats, crops: crops, roof: roof, visited: visited }, outcomes: { stored: thanks } }
  thanks: { kind: page, text: survey.thanks }
  vouchers: { kind: action, store: voucher, fields: { code: '"V" + caller.phone', used: 'false' }, outcomes: { stored: redeem } }
  redeem: { kind: menu, text: voucher.offer, options: [{ text: yes, to: use }] }
  use: { kind: action, update: voucher, where: '!row.used', fields: { used: 'true' }, outcomes: { updated: used, none: noVoucher } }
  used: { kind: page, text: voucher.used }
  noVoucher: { kind: page, text: voucher.none }
`,
  'data/markets.csv': 'id,name\nkisumu,Kisumu\nnone,Nowhere\nbusia,Busia\n',
  'locales/en.yaml': `
home: { title: Field, prices: Prices, deposit: Deposit, balance: Balance, survey: Survey, voucher: Voucher }
"yes": "Yes"
"no": "No"
prices: { market: Which market?, page: 'Maize {price} on {day}', all: All prices, crop: '{crop} costs {cropPrice}', none: No price yet., later: Please try later. }
deposit: { amount: How much?, tens: In tens please., confirm: 'Deposit {amount}?', big: 'Great, {saved} saved', saved: '{saved} saved in {count}', nothing: Nothing yet. }
survey: { people: How many people?, goats: How many goats?, crops: Which crops?, maize: Maize, beans: Beans, roof: Which roof?, iron: Iron, grass: Grass, visited: When?, thanks: 'Thanks, {people}' }
voucher: { offer: Use it now?, used: Used., none: None left. }
`,
});

interface Prices {
  origin: string;
  requests: IncomingMessage[];
  fail: boolean;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startPrices(): Promise<Prices> {
  const prices = { requests: [] as IncomingMessage[], fail: false };
  const server = createServer((request, response) => {
    prices.requests.push(request);
    response.statusCode = prices.fail ? 500 : request.url === '/v1/none' ? 404 : 200;
    response.end(
      JSON.stringify({
        latest: { price: 42.5, date: '2026-11-16' },
        all: [
          { crop: 'Maize', price: 42.5 },
          { crop: 'Beans', price: 90 },
        ],
      }),
    );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(prices, {
    origin,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  });
}

const dial =
  (service: TestService, id: string, phoneNumber = '+254700000001') =>
  (text: string) =>
    service.say(id, text, { serviceCode: '*384*7#', phoneNumber });

const vouchers = {
  'program.yaml': `
name: field
codes: ["*384*7#"]
extends: palaver
languages: [en]
start: home
records: { voucher: { used: boolean, by: text } }
states:
  home: { kind: menu, text: home, options: [{ text: give, to: give }, { text: use, to: use }] }
  give: { kind: action, store: voucher, fields: { used: 'false', by: '""' }, outcomes: { stored: given } }
  use: { kind: action, update: voucher, where: '!row.used', fields: { used: 'true', by: caller.phone }, outcomes: { updated: used, none: noVoucher } }
  given: { kind: page, text: given }
  used: { kind: page, text: used }
  noVoucher: { kind: page, text: none }
`,
  'locales/en.yaml': 'home: Vouchers\ngive: Give\nuse: Use\ngiven: Given.\nused: Used.\nnone: None left.\n',
};

describe.each(engines)('a program in YAML alone on %s', (engine) => {
  test('a voucher is redeemed by one of several calls at once, on whichever instance', async () => {
    await using dir = await writeProgram(vouchers);
    await using service = await startService(engine, { USSD_PROGRAMS: dir.path });
    await using other = await service.startAnother();
    for (let round = 0; round < 5; round += 1) {
      expect(await dial(service, `give${round}`)('1')).toMatch(/^CON Given\./);
      const calls = Array.from({ length: 8 }, (_, i) => dial(i % 2 ? other : service, `use${round}-${i}`)('2'));
      const replies = (await Promise.all(calls)).map((reply) => /Used|None/.exec(reply)?.[0] ?? reply);
      expect(replies.toSorted()).toEqual([...Array(7).fill('None'), 'Used']);
    }
  });

  test('looks prices up, keeps deposits and answers once, and computes from them', async () => {
    await using prices = await startPrices();
    await using dir = await writeProgram(program(prices.origin));
    await using service = await startService(engine, {
      USSD_PROGRAMS: dir.path,
      USSD_HTTP_ALLOWED_HOSTS: new URL(prices.origin).host,
      USSD_SECRET_PRICES_TOKEN: 'top-secret',
      DATA_ENCRYPTION_KEY: 'ab'.repeat(32),
    });
    const say = dial(service, 'a');
    await say('');
    expect(await say('1')).toContain('1. Kisumu\n2. Nowhere\n3. Busia');
    for (let i = 0; i < 2; i++) expect(await say('1*1')).toMatch(/^CON Maize 42.5 on 2026-11-16\n1\. All prices/);
    expect(prices.requests.map(({ url, headers }) => `${url} ${headers.authorization}`)).toEqual([
      '/v1/kisumu Bearer top-secret',
    ]);
    expect(await say('1*1*1*2')).toMatch(/^CON Beans costs 90\n/);
    expect(await dial(service, 'b')('1*2')).toMatch(/^CON No price yet\./);
    prices.fail = true;
    expect(await dial(service, 'c')('1*3')).toMatch(/^CON Please try later\./);

    const save = dial(service, 'd');
    expect(await save('2*45')).toMatch(/^CON Enter a value from 50 to 100000\./);
    expect(await save('2*45*55')).toMatch(/^CON In tens please\./);
    expect(await save('2*45*55*60')).toMatch(/^CON Deposit 60\?/);
    // The telecom gateway asks again, here and at another instance that replays the text.
    await using other = await service.startAnother();
    for (const each of [save, save, dial(other, 'd')])
      expect(await each('2*45*55*60*1')).toMatch(/^CON 60 saved in 1\n/);
    expect(await dial(service, 'e')('2*1000*1')).toMatch(/^CON Great, 1060 saved\n/);
    expect(await dial(service, 'f', '+254700000002')('3')).toMatch(/^CON Nothing yet\./);

    const ask = dial(service, 'g');
    expect(await ask('4')).toContain('00. Back');
    expect(await ask('4*0')).toMatch(/^CON Which roof\?\n1\. Iron\n2\. Grass\n000\. Skip/);
    expect(await dial(service, 'h')('4*3*000*12*000*01012026')).toMatch(/^CON Thanks, 3\n/);
    expect(await dial(service, 'i')('5*1')).toMatch(/^CON Used\./);

    const kinds = await (await service.get('/api/ussd/records')).json();
    expect(kinds).toEqual({
      kinds: [
        { program: 'field', kind: 'deposit', count: 2 },
        { program: 'field', kind: 'survey', count: 1 },
        { program: 'field', kind: 'voucher', count: 1 },
      ],
    });
    const csv = await (await service.get('/api/ussd/records/field/survey?format=csv')).text();
    expect(csv).toMatch(
      /^id,phoneNumber,createdAt,people,goats,crops,roof,visited\r\n\w{16},\+254700000001,[^,]+,3,,maize beans,,2026-01-01\r\n$/,
    );
    const { records } = (await (await service.get('/api/ussd/records/field/voucher')).json()) as { records: unknown };
    expect(records).toMatchObject([{ phoneNumber: '+254700000001', fields: { code: 'V+254700000001', used: true } }]);
    await fetch(`${service.url}/api/ussd/users/%2B254700000001`, { method: 'DELETE' });
    expect(await (await service.get('/api/ussd/records')).json()).toEqual({ kinds: [] });
  });
});

test('an address inside the network is not asked, nor one without TLS', async () => {
  await using prices = await startPrices();
  for (const origin of [
    prices.origin,
    prices.origin.replace('http:', 'https:'),
    'https://localhost',
    'https://169.254.169.254',
  ]) {
    await using dir = await writeProgram(program(origin));
    await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
    expect(await dial(service, 'a')('1*1')).toMatch(/^CON Please try later\./);
  }
  expect(prices.requests).toEqual([]);
});

test('an answer does not leave its part of the path', async () => {
  await using prices = await startPrices();
  const files = program(prices.origin);
  const dots = { ...files, 'data/markets.csv': 'id,name\n..,Up\n.,Here\na..b,Inside\n' };
  const path = files['prices.yaml'].replace('/v1/{market}', '/v1/{market}/today');
  await using dir = await writeProgram({ ...dots, 'prices.yaml': path });
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    USSD_HTTP_ALLOWED_HOSTS: new URL(prices.origin).host,
    USSD_SECRET_PRICES_TOKEN: 'top-secret',
  });
  expect(await dial(service, 'a')('1*1')).toMatch(/^CON Please try later\./);
  expect(await dial(service, 'b')('1*2')).toMatch(/^CON Please try later\./);
  expect(await dial(service, 'c')('1*3')).toMatch(/^CON Maize/);
  expect(prices.requests.map(({ url }) => url)).toEqual(['/v1/a..b/today']);
});

test('records, fields, types, secrets and outcomes are checked', async () => {
  const files = program('https://prices.example');
  const faulty = {
    ...files,
    'savings.yaml': files['savings.yaml']
      .replace(
        'store: deposit, fields: { amount: amount, week: today',
        'store: deposit, fields: { amont: amount, week: 5',
      )
      .replace('find: deposit', 'find: depost'),
    'survey.yaml': files['survey.yaml'].replace("'!row.used'", "'!row.usd'"),
    'prices.yaml': files['prices.yaml']
      .replace('secrets.PRICES_TOKEN', 'secrets.PIN_ENCRYPTION_KEY')
      .replace(', failed: later', '')
      .replace('{market}"', '{markt}"'),
  };
  await using dir = await writeProgram(faulty);
  const fault = await startService('sqlite', { USSD_PROGRAMS: dir.path }).then(String, String);
  expect(fault).toContain('state keep: the record deposit has no field amont (did you mean amount?)');
  expect(fault).toContain('state keep: 5 does not fit the type date of week');
  expect(fault).toContain('state use: !row.usd: there is no value row.usd (did you mean row.used?)');
  expect(fault).toContain('state deposits: program.yaml declares no record depost (did you mean deposit?)');
  expect(fault).toContain('{secrets.PIN_ENCRYPTION_KEY} is not among the secrets of program.yaml');
  expect(fault).toContain('there is no value {markt} (did you mean market?)');
  expect(fault).toContain('the outcome failed of http leads nowhere');
});

test('loops over a huge list from a server end in time, and others are served', async () => {
  const items = JSON.stringify({ items: Array<number>(9_000).fill(1) });
  const server = createServer((_request, response) => response.end(items)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  await using _closed = { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const branches: Record<string, string> = {
    nested: 'items.exists(a, items.exists(b, a + b < 0))',
    sums: 'items.exists(a, sum(items) < 0)',
    single: 'items.exists(a, a < 0)',
  };
  const state = (name: string, that: string) =>
    `  ${name}: { kind: branch, when: [{ that: '${that}', to: yes }], else: no }`;
  await using dir = await writeProgram({
    'program.yaml': `
name: loops
extends: palaver
codes: ["*384*7#"]
languages: [en]
start: begin
states:
  begin: { kind: menu, text: home, options: [{ text: home, to: load }] }
  load: { kind: action, http: { get: "${origin}/", timeout: 8s }, take: { items: $.items }, outcomes: { ok: home, missing: no, failed: no } }
  home: { kind: menu, text: home, options: [${Object.keys(branches).map((name) => `{ text: home, to: ${name} }`)}] }
  "yes": { kind: end, text: "yes" }
  "no": { kind: end, text: "no" }
${Object.entries(branches)
  .map(([name, that]) => state(name, that))
  .join('\n')}
`,
    'locales/en.yaml': 'home: Loops\n"yes": "Yes"\n"no": "No"\n',
  });
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    USSD_HTTP_ALLOWED_HOSTS: new URL(origin).host,
  });
  expect(await dial(service, 'single')('1*3')).toBe('END No');
  const hostile = ['nested', 'sums'].map((name, index) => dial(service, name)(`1*${index + 1}`));
  expect(await dial(service, 'other')('')).toMatch(/^CON/);
  expect(await Promise.all(hostile)).toEqual(
    Array(2).fill('END Service temporarily unavailable. Please try again later.'),
  );
});

test('a program lists what the protocol answers, asks the assistant, and names outcomes by expressions', async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    const answers: Record<string, unknown> = {
      '/ixo/iid?limit=2': {
        docs: [
          { id: 'did:1', name: 'Forest' },
          { id: 'did:2', name: 'Well' },
        ],
      },
      '/ixo/iid/did%3A2': { doc: { controller: 'Ana' } },
      '/stock/seeds': { left: 0 },
    };
    const answer = answers[request.url ?? ''];
    response.writeHead(answer ? 200 : request.url === '/stock/taken' ? 409 : 404).end(JSON.stringify(answer ?? {}));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  await using _closed = { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using agent = await startAgent();
  const states = `
  home: { kind: menu, text: home, options: [{ text: entities, to: load }, { text: ask, to: topic }, { text: stock, to: item }] }
  load: { kind: action, protocol: "/ixo/iid?limit=2", take: { docs: $.docs }, outcomes: { ok: entities, missing: none, failed: none } }
  entities: { kind: menu, text: entities, from: { list: docs, text: name, save: { did: id } }, to: loadOne }
  loadOne: { kind: action, protocol: "/ixo/iid/{did}", take: { owner: $.doc.controller }, outcomes: { ok: owner, missing: none, failed: none } }
  owner: { kind: page, text: owner }
  topic: { kind: prompt, text: ask, type: text, length: 20, save: topic, to: askAgent }
  askAgent: { kind: action, assistant: '"Prices of " + topic', save: advice, outcomes: { answered: advice, waiting: none, unavailable: none } }
  advice: { kind: page, text: advice }
  item: { kind: prompt, text: stock, type: text, save: item, to: loadStock }
  loadStock:
    kind: action
    http: { get: "${origin}/stock/{item}" }
    take: { left: $.left }
    when:
      - { that: status == 409, outcome: taken }
      - { that: status == 200 && left == 0, outcome: missing }
    outcomes: { ok: owner, missing: none, failed: none, taken: taken }
  none: { kind: page, text: none }
  taken: { kind: page, text: taken }`;
  const files = {
    'program.yaml': `name: entities\nextends: palaver\ncodes: ["*384*7#"]\nlanguages: [en]\nstart: home\nstates:${states}\n`,
    'locales/en.yaml': `home: Home\nentities: Entities\nowner: 'Owned by {owner}'\nask: About?\nadvice: '{advice}'\nstock: Which?\nnone: Nothing.\ntaken: Taken.\n`,
  };
  await using dir = await writeProgram(files);
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    USSD_HTTP_ALLOWED_HOSTS: new URL(origin).host,
    GATEWAY_URL: origin,
    AGENT_URL: agent.url,
  });
  expect(await dial(service, 'a')('1')).toMatch(/^CON Entities\n1\. Forest\n2\. Well/);
  for (let i = 0; i < 2; i++) expect(await dial(service, 'a')('1*2')).toMatch(/^CON Owned by Ana\n/);
  expect(asked).toEqual(['/ixo/iid?limit=2', '/ixo/iid/did%3A2']);
  for (let i = 0; i < 2; i++) expect(await dial(service, 'b')('2*beans')).toMatch(/^CON You asked: Prices of beans\n/);
  expect(agent.asked.map(({ message }) => message)).toEqual(['Prices of beans']);
  expect(await dial(service, 'c')('3*seeds')).toMatch(/^CON Nothing\./);
  expect(await dial(service, 'd')('3*taken')).toMatch(/^CON Taken\./);
  expect(await dial(service, 'e')('3*other')).toMatch(/^CON Nothing\./);

  await using faulty = await writeProgram({
    ...files,
    'program.yaml': files['program.yaml'].replace('status == 409', 'statuz == 409').replace('{did}', '{dod}'),
  });
  const fault = await startService('sqlite', { USSD_PROGRAMS: faulty.path }).then(String, String);
  expect(fault).toContain('there is no value statuz (did you mean status?)');
  expect(fault).toContain('there is no value {dod} (did you mean did?)');
});

test('a session that is rebuilt shows what the assistant answered at first', async () => {
  await using agent = await startAgent();
  await using dir = await writeProgram({
    'program.yaml': `
name: ask
extends: palaver
codes: ["*384*7#"]
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: ask, to: askAgent }] }
  askAgent: { kind: action, assistant: '"Prices"', save: advice, outcomes: { answered: advice, waiting: none, unavailable: none } }
  advice: { kind: page, text: advice }
  none: { kind: page, text: none }
`,
    'locales/en.yaml': "home: Home\nask: Ask\nadvice: 'Advice: {advice}'\nnone: Nothing.\n",
  });
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path, AGENT_URL: agent.url });
  const say = dial(service, 'a');
  const first = await say('1');
  expect(first).toMatch(/^CON Advice: You asked: Prices\n/);
  // A text that does not extend the one before is played from the start.
  await say('1*7');
  expect(await say('1')).toBe(first);
  expect(agent.asked).toHaveLength(1);
});

test('a payment that was sent is not sent again by continuing where the caller stopped', async () => {
  await using prices = await startPrices();
  const states = `
  home: { kind: menu, text: home, options: [{ text: pay, to: amount }, { text: resume, to: '@resume', when: resumable }] }
  amount: { kind: prompt, text: pay, type: integer, save: amount, to: paying }
  paying: { kind: call, flow: pin, to: receipt }
  pin: { kind: prompt, text: pin, type: text, secret: true, save: pin, to: pay }
  pay: { kind: action, http: { post: "${prices.origin}/pay", body: { amount: amount } }, outcomes: { ok: paid, missing: unpaid, failed: unpaid } }
  paid: { kind: menu, text: paid, options: [{ text: further, to: back }] }
  back: { kind: return }
  receipt: { kind: page, text: receipt }
  unpaid: { kind: page, text: unpaid }`;
  await using dir = await writeProgram({
    'program.yaml': `name: pay\nextends: palaver\ncodes: ["*384*7#"]\nlanguages: [en]\nstart: home\nstates:${states}\n`,
    'locales/en.yaml':
      "home: Home\npay: Pay\nresume: Continue\npin: PIN\npaid: Paid.\nfurther: Further\nreceipt: '{amount} paid'\nunpaid: Not paid.\n",
  });
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    USSD_HTTP_ALLOWED_HOSTS: new URL(prices.origin).host,
  });
  const say = dial(service, 'a');
  for (const text of ['', '1', '1*20']) await say(text);
  // Two calls begin before the payment and are offered the form.
  for (const id of ['b', 'c']) expect(await dial(service, id)('')).toContain('Continue');
  expect(await dial(service, 'c')('2')).toMatch(/^CON PIN/);
  expect(await dial(service, 'c')('2*4071')).toMatch(/^CON Paid\./);
  // The sub-flow that the payment was in ends where it was called, in a call that continued it too.
  expect(await dial(service, 'c')('2*4071*1')).toMatch(/^CON 20 paid/);
  await using other = await service.startAnother();
  for (const at of [service, service, other]) {
    const reply = await dial(at, 'b')('2');
    expect(reply).toMatch(/^CON Not a choice\. Please try again\.\nHome/);
    expect(reply).not.toContain('Continue');
  }
  expect(await dial(service, 'b')('2*4071')).toMatch(/^CON Not a choice/);
  expect(await dial(other, 'c')('2*4071*1')).toMatch(/^CON 20 paid/);
  expect(await dial(service, 'd')('')).not.toContain('Continue');
  expect(prices.requests).toHaveLength(1);
});
