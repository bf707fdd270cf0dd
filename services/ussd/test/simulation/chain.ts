import { createHash } from 'node:crypto';
import type { GatewayClient, GatewayResult, SigningAccount } from '@palaver/protocol';
import { fromSubmitClaim } from '../../../../packages/protocol/src/messages.ts';
import type { World } from '../../../../packages/store/test/simulation/world.ts';

interface Tx {
  hash: string;
  sequence: number;
  timeoutHeight: number;
  messages: { typeUrl: string; value: string }[];
}

interface TxResponse {
  txhash: string;
  height: string;
  code: number;
  codespace: string;
  raw_log: string;
}

export type Chain = ReturnType<typeof createChain>;

export const collectionId = '1';
export const agentDid = 'did:x:agent';
export const denom = 'uixo';
/** What an approved claim is paid. */
export const reward = 1_000_000;
const blockMs = 5_000;
const codes = { insufficientFunds: 5, inPool: 19, wrongSequence: 32, refused: 13, claimExists: 1105 };

/** One account of a chain, the claims and the transfers that it makes. Nodes are late, drop transactions and lose replies. */
export function createChain(world: World, isTrouble: () => boolean) {
  let height = 100;
  const pool = new Map<string, Tx>();
  const included = new Map<string, TxResponse>();
  const bySequence = new Map<number, string>();
  /** The account's sequence after each block. */
  const sequences = new Map([[height, 7]]);
  const claims = new Map<string, { status: 'submitted' | 'PAID' | 'REJECTED' }>();
  /** The amounts that were sent. */
  const transfers: number[] = [];
  const isFaulty = world.oneIn(2);
  const goesWrong = (times: number) => isFaulty && isTrouble() && world.oneIn(times);
  const sequenceAt = (at: number) => sequences.get(Math.min(at, height)) ?? 7;

  function run({ messages }: Tx): Pick<TxResponse, 'code' | 'codespace' | 'raw_log'> {
    const made: (() => void)[] = [];
    for (const { typeUrl, value } of messages) {
      const bytes = Buffer.from(value, 'base64');
      const claim = fromSubmitClaim({ typeUrl, value: bytes });
      if (claim) {
        if (claims.has(claim.claimId)) return { code: codes.claimExists, codespace: 'claims', raw_log: 'exists' };
        made.push(() => {
          claims.set(claim.claimId, { status: 'submitted' });
          const evaluate = () => claims.set(claim.claimId, { status: world.oneIn(5) ? 'REJECTED' : 'PAID' });
          world.after(world.between(1_000, 30_000), evaluate, null);
        });
      } else {
        // The message ends with the digits of its amount.
        const amount = Number(/\d+$/.exec(bytes.toString('latin1'))?.[0]);
        if (goesWrong(2)) return { code: codes.insufficientFunds, codespace: 'sdk', raw_log: 'insufficient funds' };
        made.push(() => void transfers.push(amount));
      }
    }
    for (const make of made) make();
    return { code: 0, codespace: '', raw_log: '' };
  }

  function makeBlock(): void {
    height += 1;
    let sequence = sequenceAt(height - 1);
    for (const tx of [...pool.values()].sort((a, b) => a.sequence - b.sequence)) {
      if (tx.timeoutHeight < height || tx.sequence < sequence || goesWrong(8)) pool.delete(tx.hash);
      else if (tx.sequence === sequence && !goesWrong(4)) {
        pool.delete(tx.hash);
        sequence += 1;
        bySequence.set(tx.sequence, tx.hash);
        included.set(tx.hash, { txhash: tx.hash, height: String(height), ...run(tx) });
        world.note(`block ${height} includes ${tx.messages.length} messages: ${included.get(tx.hash)?.code}`);
      }
    }
    sequences.set(height, sequence);
    world.after(blockMs, makeBlock, null);
  }
  world.after(blockMs, makeBlock, null);

  const missing: GatewayResult = { ok: false, kind: 'missing', status: 404, message: 'not found' };
  const unavailable: GatewayResult = { ok: false, kind: 'timeout', status: undefined, message: 'no answer in time' };
  const ok = (value: unknown): GatewayResult => ({ ok: true, value });
  const toResponse = (response: TxResponse) => ({ ...response, events: [] });

  function read(path: string, at: number | undefined, query: Record<string, string | undefined> = {}): GatewayResult {
    // A node may be a block behind.
    const known = goesWrong(3) ? height - 1 : height;
    const isKnown = (response: TxResponse | undefined) => response !== undefined && Number(response.height) <= known;
    if (path.endsWith('/blocks/latest'))
      return ok({ block: { header: { chain_id: 'simulated', height: String(known) } } });
    if (path.includes('/account_info/'))
      return ok({ info: { account_number: '1', sequence: String(sequenceAt(at ?? known)) } });
    if (path.endsWith('/txs')) {
      const sequence = Number(/\/(\d+)'/.exec(query.query ?? '')?.[1]);
      const response = included.get(bySequence.get(sequence) ?? '');
      const found = response && isKnown(response) ? [response] : [];
      return ok({ txs: [], tx_responses: found.map(toResponse), total: String(found.length) });
    }
    const [, kind, id = ''] = /\/(txs|claim|collection)\/([^/]+)$/.exec(path) ?? [];
    if (kind === 'collection')
      return ok({
        collection: { admin: 'ixo1admin', payments: { approval: { amount: [{ denom, amount: String(reward) }] } } },
      });
    if (kind === 'txs') {
      const response = included.get(id);
      return response && isKnown(response)
        ? ok({ tx: { body: { memo: '' } }, tx_response: toResponse(response) })
        : missing;
    }
    const claim = claims.get(id);
    if (!claim) return missing;
    const { status } = claim;
    return ok({
      claim: {
        collection_id: collectionId,
        agent_did: agentDid,
        agent_address: account.address,
        amount: [],
        evaluation: status === 'submitted' ? null : { status: status === 'PAID' ? 'APPROVED' : 'REJECTED', amount: [] },
        payments_status: { approval: status === 'PAID' ? 'PAID' : 'NO_PAYMENT' },
      },
    });
  }

  function take(bytes: string): Pick<TxResponse, 'code' | 'codespace' | 'raw_log'> & { txhash: string } {
    const text = Buffer.from(bytes, 'base64').toString();
    const tx: Tx = { ...JSON.parse(text), hash: toHash(text) };
    const refuse = (code: number) => ({ txhash: tx.hash, code, codespace: 'sdk', raw_log: `refused with ${code}` });
    if (pool.has(tx.hash)) return refuse(codes.inPool);
    const waiting = [...pool.values()].filter(({ sequence }) => sequence >= sequenceAt(height)).length;
    if (tx.sequence !== sequenceAt(height) + waiting) return refuse(codes.wrongSequence);
    if (goesWrong(8)) return refuse(codes.refused);
    pool.set(tx.hash, tx);
    return { txhash: tx.hash, code: 0, codespace: '', raw_log: '' };
  }

  const gateway: GatewayClient = {
    async get(path, { height: at, query } = {}) {
      await world.wait(world.latency());
      if (goesWrong(6)) return unavailable;
      return read(path, at, query);
    },
    async broadcast(bytes) {
      await world.wait(world.latency());
      if (goesWrong(5)) return unavailable;
      const response = take(bytes);
      await world.wait(world.latency());
      if (goesWrong(4)) return unavailable;
      return ok({ tx_response: { ...response, height: '0', events: [] } });
    },
  };

  return { gateway, claims, transfers };
}

/** Its signature is the text itself: the simulated chain has one account. */
export const account: SigningAccount = {
  address: 'ixo1service',
  async sign({ messages, memo, sequence, timeoutHeight }) {
    const encoded = messages.map(({ typeUrl, value }) => ({ typeUrl, value: Buffer.from(value).toString('base64') }));
    const text = JSON.stringify({ messages: encoded, memo, sequence, timeoutHeight });
    return { bytes: Buffer.from(text), hash: toHash(text) };
  },
};

const toHash = (text: string) => createHash('sha256').update(text).digest('hex').toUpperCase();
