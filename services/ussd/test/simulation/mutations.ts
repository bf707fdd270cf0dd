import type { Mutation } from '../../../../packages/store/test/simulation/mutate.ts';

const inFile =
  (file: string) =>
  (name: string, ...edits: Mutation['edits']): Mutation => ({ name, file, edits });
const results = inFile('services/ussd/src/calls/action-results.ts');
const requests = inFile('services/ussd/src/calls/handle-request.ts');
const call = inFile('services/ussd/src/channel/ussd-call.ts');
const writer = inFile('services/ussd/src/store/sqlite-writer.ts');
const outbox = inFile('services/ussd/src/outgoing/outbox.ts');
const messages = inFile('services/ussd/src/outgoing/messages.ts');
const payouts = inFile('services/ussd/src/money/payouts.ts');
const claims = inFile('services/ussd/src/money/claims.ts');
const transactions = inFile('packages/protocol/src/tx-outbox.ts');
const table = inFile('packages/protocol/src/outbox-table.ts');

export const mutations: Mutation[] = [
  results('an effect whose result is recorded already stays', [
    'if (!(await insert(trx, own, result))) throw new AlreadyDone();',
    'await insert(trx, own, result);',
  ]),
  results('an effect and its result in two transactions', [
    'if (!(await insert(trx, own, result))) throw new AlreadyDone();\n          return result;\n        });',
    'return result;\n        }).then(async (result) => ((await insert(store.db, own, result)) ? result : findAgain(own)));',
  ]),
  results('a result that another instance recorded is not read', [
    '(await insert(store.db, own, result)) ? result : findAgain(own)',
    '(await insert(store.db, own, result), result)',
  ]),
  requests('a reply is sent although its session was not saved', [
    'if (!(await parts.sessions.save(write))) return undefined;',
    'await parts.sessions.save(write);',
  ]),
  call('a text that comes late counts as the newest one', [
    'if (this.#textHash.ofText(this.sessionId, known) !== textHash) return undefined;',
    '',
  ]),
  call('the key of an action does not say which input ran it', [
    'this.inputs.slice(0, count), step',
    'this.inputs.slice(0, 1), step',
  ]),
  writer('a session is written over that of another instance', [
    'where id = ? and version = ?`',
    'where id = ? and version <> ? - 1000`',
  ]),
  inFile('services/ussd/src/actions/http-actions.ts')('each try of a payment has a key of its own', [
    "'idempotency-key': context.key,",
    "'idempotency-key': `${context.key} ${Math.random()}`,",
  ]),
  outbox(
    'a message is taken that is not as it was read',
    ['const from = { status: row.status, attempts: row.attempts };', 'const from = {};'],
    [
      'from, set: { status: claimedStatus, attempts } });',
      'from, set: { status: claimedStatus, attempts } }).then(() => true);',
    ],
  ),
  outbox('a message counts as sent before it is', [
    'const delivery = await send(row).catch(toFault);',
    "await end({ status: 'sent', next_at: null, fault: null });\n  const delivery = await send(row).catch(toFault);",
  ]),
  outbox('a lease that is shorter than a request', ['const leaseMs = 60_000;', 'const leaseMs = 5;']),
  outbox('a message that was taken is forgotten with its process', [
    ".where('status', 'in', ['queued', parts.claimedStatus])",
    ".where('status', 'in', ['queued'])",
  ]),
  messages('a message is sent again by a provider that does not know it', [
    "if (row.status === 'sending' && !provider.isIdempotent)",
    'if (false)',
  ]),
  messages('a message in doubt is sent again', [
    "isFinal: sent.kind === 'refused' || isInDoubt,",
    "isFinal: sent.kind === 'refused',",
  ]),
  transactions('signed bytes are sent before they are stored', ['await table.keepSigned(ids, signed);', '']),
  transactions('a transaction that is not found is signed again', [
    'if (latest.height <= Number(timeout) + indexBlocks) {',
    'if (latest.height < 0) {',
  ]),
  transactions('a transaction that failed counts as included', [
    'if (code === 0) return table.include',
    'if (code >= 0) return table.include',
  ]),
  transactions('a transaction that is refused after it was sent once is signed again', [
    'if (isFirst) return release',
    'if (isFirst || true) return release',
  ]),
  transactions('a sequence that is used up counts as refused', [
    'sent.code === alreadyInPool || sent.code === wrongSequence',
    'sent.code === alreadyInPool',
  ]),
  table('entries are released that were sent a second time', ['isRefused ? [0] : [0, 1]', '[0, 1]']),
  table('an included entry is not reported', [
    "if (done.numUpdatedRows > 0n) await onSettled?.(own, { ...row, ...change }, 'included');",
    '',
  ]),
  table('a dead entry is not reported', ["if (status === 'dead') await onSettled", 'if (false) await onSettled']),
  payouts('a payout is debited and not queued', [
    'await outbox.add(trx, { id: `${entryPrefix}${id}`, message }, now);',
    '',
  ]),
  payouts('a payout that failed is not given back', ['[isPaid ? paid : taken.account_id]: -amount', '[paid]: -amount']),
  payouts('a payout that has failed counts as sent', ["isPaid ? 'sent' : 'failed'", "'sent'"]),
  payouts('a reward is booked to the service', [
    'holderAccount(reward.accountId, denom);\n    const entries',
    'unclaimed;\n    const entries',
  ]),
  claims(
    'a reward is booked at each look',
    [
      ".where('id', '=', id)\n          .where('status', '=', status)\n          .executeTakeFirst();",
      ".where('id', '=', id)\n          .executeTakeFirst();",
    ],
    ['await bookReward(trx, { claimId: id, accountId', 'await bookReward(trx, { claimId: `${id}${now}`, accountId'],
  ),
  claims('a claim and its transaction are stored apart', [
    'await outbox.add(trx, { id: toEntryId(row.id), message }, clock.now());',
    'if (row.created_at % 2 === 0) await outbox.add(trx, { id: toEntryId(row.id), message }, clock.now());',
  ]),
];
