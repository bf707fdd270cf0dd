import { checkProgram, type Menu } from '@palaver/program/internal';
import type { Actions } from '../../src/actions/action.ts';
import { bundledProgram, toRegistry } from '../../src/catalog/bundled-program.ts';
import { readProgramSource } from '../../src/catalog/read-source.ts';

export const paymentHost = 'pay.example';

const files = {
  'program.yaml': `
name: simulated
extends: palaver
languages: [en]
start: home
records:
  deposit: { sum: integer }
states:
  home:
    kind: menu
    text: home.title
    options:
      - { key: 1, text: home.deposit, to: askDeposit }
      - { key: 2, text: home.message, to: askMessage }
      - { key: 3, text: home.payment, to: askPayment }
      - { key: 4, text: home.more, to: preMenu }
  askDeposit: { kind: prompt, text: home.sum, type: integer, min: 1, max: 1000000, save: deposited, to: keep }
  keep: { kind: action, store: deposit, fields: { sum: deposited }, outcomes: { stored: kept } }
  kept: { kind: page, text: home.kept }
  askMessage: { kind: prompt, text: home.sum, type: integer, min: 1, max: 1000000, save: noted, to: queue }
  queue: { kind: action, sms: { number: caller.phone, text: home.note }, outcomes: { queued: queued, refused: refused } }
  queued: { kind: page, text: home.queued }
  refused: { kind: page, text: home.refused }
  askPayment: { kind: prompt, text: home.sum, type: integer, min: 1, max: 1000000, save: payable, to: pay }
  pay:
    kind: action
    http: { post: "https://${paymentHost}/v1/payments", body: { sum: payable }, timeout: 8s }
    take: { receipt: $.receipt }
    outcomes: { ok: paid, missing: unpaid, failed: unpaid }
  paid: { kind: page, text: home.paid }
  unpaid: { kind: page, text: home.unpaid }
`,
  'locales/en.yaml': `
home:
  title: Home
  deposit: Deposit
  message: Message
  payment: Payment
  more: More
  sum: How much?
  kept: "Kept {deposited}."
  note: "Note {noted}"
  queued: "Queued {noted}."
  refused: Refused.
  paid: "Paid {payable}, receipt {receipt}."
  unpaid: Not paid.
`,
};

/** The bundled menus, with a start that keeps records, sends messages and posts to a server. */
export async function loadMenu(actions: Actions): Promise<Menu> {
  const base = await readProgramSource(bundledProgram);
  const source = {
    name: 'simulated',
    files: Object.entries(files).map(([path, text]) => ({ file: path, path, text })),
  };
  const checked = checkProgram(source, toRegistry(actions), base);
  if (!checked.ok)
    throw new Error(checked.faults.map(({ file, line, message }) => `${file}:${line} ${message}`).join('\n'));
  return checked.menu;
}
