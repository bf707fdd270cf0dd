import { setTimeout as sleep } from 'node:timers/promises';
import { createCallers, type Load, pickUrl, readRows, type Tally } from './load.ts';
import type { World } from './world.ts';

const callers = 4;
/** Leaves the services CPU time for what is tried. */
const pauseMs = 20;
const requestMs = 15_000;
const answerMs = 60_000;
const pin = '4071';

interface Report {
  session: string;
  phone: string;
  amount: number;
  reference?: string;
}

/** Phones that register, then file one report after the other; unanswered requests are repeated as telecom gateways do. */
export function createUssdLoad(world: World, options: { leaveEarly?: boolean } = {}): Load {
  const reports: Report[] = [];
  const registered = new Set<string>();
  const findings: string[] = [];
  const run = Math.random().toString(36).slice(2, 8);
  let stuck = 0;
  let turn = 0;
  let confirmedAt = 0;

  async function ask(session: string, phoneNumber: string, text: string): Promise<string> {
    turn += 1;
    const url = `${pickUrl(world, turn)}/api/ussd`;
    const body = JSON.stringify({ sessionId: session, serviceCode: '*1234#', phoneNumber, text });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    if (options.leaveEarly && turn % 2 === 0)
      await fetch(url, { ...init, signal: AbortSignal.timeout(1 + (turn % 20)) }).catch(() => {});
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(requestMs) });
    const reply = await response.text();
    if (response.status !== 200 || reply.includes('temporarily unavailable')) throw new Error(reply);
    return reply;
  }

  async function askUntilAnswered(session: string, phone: string, text: string): Promise<string> {
    const begun = performance.now();
    for (;;) {
      try {
        const reply = await ask(session, phone, text);
        confirmedAt = performance.now();
        return reply;
      } catch (error) {
        if (performance.now() > Math.max(begun, world.healedAt) + answerMs) {
          stuck += 1;
          findings.push(`no answer for ${session} ${text.replaceAll(pin, 'PIN')}: ${error}`);
          return '';
        }
        await sleep(50);
      }
    }
  }

  async function caller(index: number, isStopped: () => boolean): Promise<void> {
    const phone = `+2547${String(index).padStart(2, '0')}${String(Math.floor(Math.random() * 1e6)).padStart(6, '0')}`;
    const welcome = await askUntilAnswered(`r-${run}-${phone}`, phone, `2*1*Ana*${pin}*${pin}`);
    if (!/^(CON|END) /.test(welcome)) return;
    registered.add(phone);
    for (let amount = 1; !isStopped(); amount += 1) {
      const report: Report = { session: `s-${run}-${index}-${amount}`, phone, amount };
      reports.push(report);
      const reply = await askUntilAnswered(report.session, phone, `3*1*${amount}*${pin}`);
      const reference = /Reference: (\w{9})/.exec(reply)?.[1];
      if (reference) report.reference = reference;
      else if (reply !== '') findings.push(`no reference in: ${reply.slice(0, 120)}`);
      await sleep(pauseMs);
    }
  }

  return {
    ...createCallers(callers, caller),
    lastConfirmed: () => confirmedAt,
    async check(): Promise<Tally> {
      const rows = await readRows(world, 'select phone, fields, id as reference from ussd_record');
      const accounts = new Set((await readRows(world, 'select phone from ussd_account')).map((row) => row.phone));
      const stored = new Map<string, unknown[]>();
      for (const { phone, fields, reference } of rows) {
        const key = `${phone} ${Number(JSON.parse(String(fields)).amount)}`;
        stored.set(key, [...(stored.get(key) ?? []), reference]);
      }
      let lost = 0;
      let doubled = 0;
      const confirmed = reports.filter(({ reference }) => reference !== undefined);
      for (const phone of registered) if (!accounts.has(phone)) lost += 1;
      for (const { phone, amount, reference } of confirmed) {
        const found = stored.get(`${phone} ${amount}`) ?? [];
        if (!found.includes(reference)) {
          lost += 1;
          findings.push(`report ${reference} is not stored; stored for it: ${found.join(', ')}`);
        }
      }
      for (const [key, references] of stored) {
        if (references.length > 1) {
          doubled += references.length - 1;
          findings.push(`${key.split(' ')[1]} of one phone is stored as ${references.join(', ')}`);
        }
      }
      return { confirmed: confirmed.length + registered.size, lost, doubled, stuck, findings };
    },
  };
}
