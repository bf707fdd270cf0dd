import type { Standing } from '@palaver/ucan/internal';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createOpenConnections, type OpenConnections } from './open-connections.ts';

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
