import type { Standing } from '@palaver/ucan/internal';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createOpenConnections, createOpenPlaces, type OpenConnections } from './open-connections.ts';

const token = { cid: 'bafyToken', issuer: 'did:key:zAna' };
const proof = { cid: 'bafyProof', issuer: 'did:key:zOwner' };
let standing: Standing | undefined;
let connections: OpenConnections;

beforeEach(() => {
  vi.useFakeTimers();
  standing = undefined;
  connections = createOpenConnections({ findStanding: async () => standing });
});
afterEach(() => {
  connections.close();
  vi.useRealTimers();
});

function open(more: { graceMs?: number; endsWhenShared?: boolean } = {}): string[] {
  const ended: string[] = [];
  const expiration = Date.now() / 1000 + 900;
  const end = ({ code }: { code: string }) => void ended.push(code);
  connections.add({ chain: [token, proof], expiration, endsWhenShared: false, end, ...more });
  return ended;
}

test('a connection ends with its token, or so long after as it may stay', async () => {
  const [socket, reply] = [open(), open({ graceMs: 900_000 })];
  await vi.advanceTimersByTimeAsync(929_000);
  expect(socket).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([socket, reply]).toEqual([['UCAN_EXPIRED'], []]);
  await vi.advanceTimersByTimeAsync(900_000);
  expect([socket, reply]).toEqual([['UCAN_EXPIRED'], ['UCAN_EXPIRED']]);
});

test('a revocation of which no word came ends it within a minute', async () => {
  const reply = open();
  await vi.advanceTimersByTimeAsync(61_000);
  standing = 'revoked';
  await vi.advanceTimersByTimeAsync(61_000);
  expect(reply).toEqual(['UCAN_NOT_ALLOWED']);
});

test('only the issuer of a token or of a proof ends it, and only a socket ends when its token is sent downstream', () => {
  const [socket, reply] = [open({ endsWhenShared: true }), open()];
  connections.drop({ did: 'did:key:zEve', cid: token.cid, standing: 'revoked' });
  expect([socket, reply]).toEqual([[], []]);
  connections.drop({ did: token.issuer, cid: token.cid, standing: 'shared' });
  expect([socket, reply]).toEqual([['UCAN_NOT_ALLOWED'], []]);
  connections.drop({ did: proof.issuer, cid: proof.cid, standing: 'revoked' });
  expect([socket, reply]).toEqual([['UCAN_NOT_ALLOWED'], ['UCAN_NOT_ALLOWED']]);
});

test('users and addresses have fewer places the fuller it is, and others always have one', () => {
  const take = createOpenPlaces({ all: 100, perUser: 10, perClient: 40 });
  const fill = (toOwner: (at: number) => { userDid: string; client?: string }) => {
    const taken: (() => void)[] = [];
    for (let at = 0; at < 200; at += 1) {
      const leave = take(toOwner(at));
      if (leave) taken.push(leave);
    }
    return taken;
  };
  const ofUser = fill(() => ({ userDid: 'ana', client: 'a' }));
  expect(ofUser).toHaveLength(10);
  for (const leave of [...ofUser, ...ofUser]) leave();
  // As many keys as they like, from one address, then from others.
  const ofAddress = fill((at) => ({ userDid: `eve ${at}`, client: 'e' }));
  expect(ofAddress).toHaveLength(34);
  const ofOthers = ['f', 'g', 'h'].map((client) => fill((at) => ({ userDid: `${client} ${at}`, client })).length);
  expect(ofOthers).toEqual([22, 15, 10]);
  expect(take({ userDid: 'ana', client: 'a' })).toBeDefined();
  // Of an address that many share, each user has a share.
  expect(fill(() => ({ userDid: 'ben' }))).toHaveLength(4);
  for (const leave of ofAddress) leave();
  expect(fill(() => ({ userDid: 'ben' }))).toHaveLength(6);
});
