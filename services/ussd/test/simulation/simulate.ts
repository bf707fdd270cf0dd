import { auditMigrations } from '@palaver/store/internal';
import { createDatabase, type FaultKind, faultKinds } from '../../../../packages/store/test/simulation/database.ts';
import { createInstances, disasters } from '../../../../packages/store/test/simulation/instances.ts';
import { createGuard, type Outcome, Violation } from '../../../../packages/store/test/simulation/outcome.ts';
import { createWorld, enter, type World } from '../../../../packages/store/test/simulation/world.ts';
import type { SmsProvider } from '../../src/outgoing/sms-provider.ts';
import { ussdMigrations } from '../../src/store/migrations.ts';
import type { UssdTables } from '../../src/store/tables.ts';
import { createChain } from './chain.ts';
import { type Checks, createChecks, type Effect, type Received } from './checks.ts';
import { startInstance, type UssdInstance } from './instance.ts';

const names = ['a', 'b', 'c'];
/** Until then things go wrong. */
const troubleMs = 120_000;
/** Until then everything must have ended. */
const endMs = 4 * 3_600_000;

const marks: [RegExp, string][] = [
  [/insert into ussd_action_result/, 'result'],
  [/(insert into|update) ussd_session/, 'session'],
  [/insert into ussd_record/, 'record'],
  [/insert into ussd_sms/, 'queue a message'],
  [/update ussd_sms set status = \?, attempts/, 'take a message'],
  [/update ussd_sms/, 'end a message'],
  [/insert into ussd_payout/, 'payout'],
  [/update ussd_payout/, 'settle a payout'],
  [/update ussd_tx set bytes = \?, hash = \?, sequence/, 'sign'],
  [/update ussd_tx set status = \?, height/, 'include'],
  [/update ussd_tx set resent/, 'send again'],
  [/update ussd_tx set/, 'release'],
  [/insert into ussd_tx /, 'queue a transaction'],
  [/ussd_tx_lease/, 'lease'],
  [/insert into ussd_claim/, 'claim'],
  [/update ussd_claim/, 'move a claim'],
  [/insert into ussd_account/, 'register'],
  [/palaver_audit/, 'audit'],
];
const points = marks.map(([, point]) => point).filter((point) => point !== 'release');
const faults = faultKinds.filter((kind) => kind !== 'fine');

export const mustCover = [
  {
    seeds: 200,
    what: [
      ...points,
      ...disasters.filter((what) => what !== 'clock'),
      ...['deposit', 'message', 'payment', 'report', 'payout'].map((effect) => `confirmed ${effect}`),
      ...['opened', 'continued', 'rebuilt', 'retried', 'failed'].map((kind) => `reply ${kind}`),
    ],
  },
  { seeds: 5_000, what: faults.flatMap((fault) => points.map((point) => `${fault}: ${point}`)) },
];

const database = await createDatabase<UssdTables>({
  migrations: { audit: auditMigrations, ussd: ussdMigrations },
  describe(statements) {
    const text = statements.map((statement) => statement.replaceAll('"', '').replace(/\s+/g, ' '));
    const found = marks.filter(([mark]) => text.some((statement) => mark.test(statement))).map(([, name]) => name);
    return found.join('+');
  },
});

/** Callers, telecom gateways, a chain and instances of the service, until nothing is on its way any more. */
export async function simulate(seed: number): Promise<Outcome> {
  const world = createWorld(seed);
  enter(world);
  const coverage = new Map<string, number>();
  const cover = (what: string) => void coverage.set(what, (coverage.get(what) ?? 0) + 1);
  const guard = createGuard();
  const isTrouble = () => world.elapsedMs() < troubleMs;
  const faultOneIn = world.pick([0, 4, 8, 20]);
  const chain = createChain(world, isTrouble);
  const received: Received = { messages: new Map(), payments: new Map(), isIdempotent: world.oneIn(2) };
  const checks = createChecks(world, database, { chain, received });
  await database.erase({
    world,
    chooseFault: (query): FaultKind => {
      if (query !== undefined && /^insert into "ussd_tx_lease"/.test(query) && world.isSilent()) return 'fails';
      const isRare = query !== undefined && /^select|ussd_tx_lease/.test(query);
      if (faultOneIn === 0 || !isTrouble() || !world.oneIn(isRare ? 5 * faultOneIn : faultOneIn)) return 'fine';
      return world.pick(faultKinds);
    },
    onCommit({ what }, fault) {
      for (const part of new Set(what.split('+')))
        if (part !== '') cover(fault === 'fine' ? part : `${fault}: ${part}`);
      if (what !== '' && what !== 'lease') world.note(fault === 'fine' ? what : `${what} (${fault})`);
      guard.run(checks.check);
    },
  });
  const outside = { chain, sms: createSms(world, received, isTrouble), pay: createPay(world, received, isTrouble) };
  const instances = createInstances<UssdInstance>({
    world,
    isSkewed: false,
    start: (process) => startInstance({ world, database, outside }, process),
    cover,
  });
  for (const slot of names.slice(0, world.pick([1, 2, 2, 3]))) instances.boot(slot);
  for (let left = world.pick([0, 0, 1, 2, 3]); left > 0; left -= 1)
    world.after(world.between(300, troubleMs), () => instances.strike(world.pick(names)), null);
  const isCalm = () => faultOneIn === 0 && !disasters.some((what) => coverage.has(what));
  const callers = createCallers({ world, checks, instances, guard: guard.run, cover, isCalm });
  let steps = 0;
  let looked = 0;
  const hasEnded = await world.run(endMs, () => {
    steps += 1;
    if (database.isInTransaction()) guard.fail('a transaction waits for something else than the database');
    if (guard.violation() !== undefined) return true;
    if (world.elapsedMs() < looked + 1_000) return false;
    looked = world.elapsedMs();
    return looked >= 30_000 && callers.waiting.size === 0 && checks.pending().length === 0;
  });
  if (!hasEnded) guard.fail(`${[...callers.waiting, ...checks.pending()].join(', ')}: never ends`);
  else if (guard.violation() === undefined) guard.run(checks.checkEnd);
  return { seed, violation: guard.violation(), log: world.log, steps, coverage };
}

/** A provider that loses requests and replies. */
function createSms(world: World, { messages, isIdempotent }: Received, isTrouble: () => boolean): SmsProvider {
  return {
    isIdempotent,
    async send({ id, text }) {
      await world.wait(world.latency());
      const goesWrong = (times: number) => isTrouble() && world.oneIn(times);
      if (goesWrong(5)) return { ok: false, kind: 'again', fault: 'busy' };
      if (goesWrong(8)) return { ok: false, kind: 'unknown', fault: 'no answer' };
      const sum = Number(text.replace('Note ', ''));
      const known = messages.get(sum) ?? { ids: new Set(), times: 0 };
      if (!isIdempotent || !known.ids.has(id)) known.times += 1;
      known.ids.add(id);
      messages.set(sum, known);
      await world.wait(world.latency());
      return goesWrong(5) ? { ok: false, kind: 'unknown', fault: 'no answer' } : { ok: true };
    },
  };
}

/** A server that carries out a payment once for each key, and loses requests and replies. */
function createPay(world: World, { payments }: Received, isTrouble: () => boolean) {
  return async (key: string, sum: number) => {
    await world.wait(world.latency());
    const goesWrong = (times: number) => isTrouble() && world.oneIn(times);
    if (goesWrong(6)) return { fault: 'no answer in time' };
    payments.set(sum, (payments.get(sum) ?? new Set()).add(key));
    await world.wait(world.latency());
    return goesWrong(6)
      ? { fault: 'no answer in time' }
      : { status: 200, body: JSON.stringify({ receipt: `r${sum}` }) };
  };
}

interface CallerParts {
  world: World;
  checks: Checks;
  instances: ReturnType<typeof createInstances<UssdInstance>>;
  guard(check: () => void): void;
  cover(what: string): void;
  /** Nothing has gone wrong but what servers beyond the service do. */
  isCalm(): boolean;
}

const pin = '4071';
const registration = ['4', '2', '1', 'Ana', pin, pin];
const confirmations: Record<Effect, RegExp> = {
  deposit: /Kept/,
  message: /Queued/,
  payment: /Paid/,
  report: /report is filed/,
  payout: /is on its way/,
};

/** They dial, press keys and hang up; their telecom gateway repeats what is not answered, and now and then what is. */
function createCallers({ world, checks, instances, guard, cover, isCalm }: CallerParts) {
  const waiting = new Set<string>();
  let calls = 0;
  let sums = 1;

  /** A request until it is answered; undefined if it never is. */
  async function press(sessionId: string, phoneNumber: string, text: string): Promise<string | undefined> {
    const request = { sessionId, serviceCode: '*1234#', phoneNumber, text };
    const send = async () => {
      const { reply, kind } = await instances.ask(`request ${text}`, (instance) => instance.answer(request), 15_000);
      cover(`reply ${kind}`);
      world.note(`${sessionId} ${text}: ${reply.split('\n')[0]} (${kind})`);
      if (kind === 'failed' && isCalm())
        guard(() => {
          throw new Violation(`${sessionId} ${text} is not answered although nothing went wrong`);
        });
      if (kind === 'failed') throw new Error(reply);
      if (kind !== 'expired' && text !== '') guard(() => checks.reply(sessionId, text, reply));
      return reply;
    };
    for (let tries = 0; tries < 3; tries += 1) {
      const copies = world.oneIn(5) ? [send(), send()] : [send()];
      if (world.oneIn(8)) world.after(world.between(0, 20_000), () => void send().catch(() => {}), null);
      const reply = await Promise.any(copies).catch(() => undefined);
      if (reply !== undefined) return reply;
      await world.wait(world.between(0, 3_000));
    }
    return undefined;
  }

  /** Dials and presses these keys, mostly one by one; gives the last reply. */
  async function call(phone: string, keys: string[]): Promise<string | undefined> {
    calls += 1;
    const sessionId = `s${calls}`;
    const isShortcut = world.oneIn(4);
    let reply = isShortcut ? '' : await press(sessionId, phone, '');
    for (let count = isShortcut ? keys.length : 1; count <= keys.length && reply !== undefined; count += 1) {
      reply = await press(sessionId, phone, keys.slice(0, count).join('*'));
      await world.wait(world.between(200, 4_000));
    }
    return reply;
  }

  async function want(phone: string, effect: Effect): Promise<void> {
    const number = sums++;
    const sum = effect === 'payout' ? number * 1_000 : number;
    const intent = checks.intent(effect, sum);
    const keys = {
      deposit: ['1', `${number}`],
      message: ['2', `${number}`],
      payment: ['3', `${number}`],
      report: ['4', '3', '1', `${number}`, pin],
      payout: ['4', '2', '2', pin, '6', '3', `0.${String(number).padStart(3, '0')}`, pin],
    }[effect];
    const reply = await call(phone, keys);
    if (reply === undefined || !confirmations[effect].test(reply)) return;
    intent.isConfirmed = true;
    cover(`confirmed ${effect}`);
  }

  async function live(phone: string): Promise<void> {
    const isHolder = world.oneIn(2);
    await world.wait(world.between(500, 3_000));
    for (let tries = 0; isHolder && tries < 3; tries += 1) {
      await call(phone, registration);
      const isSet = await instances
        .ask('an address', (instance) => instance.setAddress(phone, `ixo1${phone.slice(-9)}`))
        .catch(() => false);
      if (isSet) break;
    }
    for (let left = world.pick([1, 2, 3]); left > 0; left -= 1)
      await want(
        phone,
        world.pick(
          isHolder ? ['deposit', 'message', 'payment', 'report', 'report'] : ['deposit', 'message', 'payment'],
        ),
      );
    if (!isHolder) return;
    // A reward takes some blocks.
    for (let left = world.pick([0, 1, 2]); left > 0; left -= 1) {
      await world.wait(world.between(10_000, 60_000));
      await want(phone, 'payout');
    }
  }

  for (let left = world.pick([1, 1, 2]); left > 0; left -= 1) {
    const phone = `+2547000000${10 + left}`;
    waiting.add(phone);
    world.after(0, () => void live(phone).finally(() => waiting.delete(phone)), null);
  }
  return { waiting };
}
