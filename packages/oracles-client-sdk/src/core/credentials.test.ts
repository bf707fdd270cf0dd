import { describe, expect, it, vi } from 'vitest';
import { createCredentialCache, type Sign } from './credentials.ts';

const now = () => Math.floor(Date.now() / 1000);

function countingSign(prefix: string, lifetime: number) {
  let count = 0;
  return vi.fn<Sign>(async () => {
    count += 1;
    return { serialized: `${prefix}-${count}`, expiresAt: now() + lifetime };
  });
}

const memoryStorage = () => {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
};

describe('the credential cache', () => {
  it('signs once for all who ask at the same time, and keeps the result per agent', async () => {
    const createDelegation = countingSign('d', 86_400);
    const createInvocation = countingSign('i', 300);
    const cache = createCredentialCache({ userDid: 'did:u', createDelegation, createInvocation });
    const all = await Promise.all([cache.get('did:a'), cache.get('did:a'), cache.get('did:a')]);
    expect(new Set(all.map((tokens) => JSON.stringify(tokens)))).toEqual(
      new Set([JSON.stringify({ delegation: 'd-1', invocation: 'i-1' })]),
    );
    expect(await cache.get('did:a')).toEqual({ delegation: 'd-1', invocation: 'i-1' });
    expect(await cache.get('did:b')).toEqual({ delegation: 'd-2', invocation: 'i-2' });
    expect(createInvocation.mock.calls).toEqual([['did:a'], ['did:b']]);
  });

  it('works with delegations alone', async () => {
    const cache = createCredentialCache({ userDid: 'did:u', createDelegation: countingSign('d', 86_400) });
    expect(await cache.get('did:a')).toEqual({ delegation: 'd-1' });
    cache.refuse('did:a', { delegation: 'd-1' });
    expect(await cache.get('did:a')).toEqual({ delegation: 'd-2' });
  });

  it.each([
    [
      'an invocation 30 s before its expiry',
      { invocation: 29, delegation: 86_400 },
      { invocation: 'i-2', delegation: 'd-1' },
    ],
    ['not before that', { invocation: 35, delegation: 86_400 }, { invocation: 'i-1', delegation: 'd-1' }],
    [
      'a delegation 5 min before its expiry',
      { invocation: 300, delegation: 299 },
      { invocation: 'i-1', delegation: 'd-2' },
    ],
  ])('renews %s', async (_name, lifetimes, expected) => {
    const cache = createCredentialCache({
      userDid: 'did:u',
      createDelegation: countingSign('d', lifetimes.delegation),
      createInvocation: countingSign('i', lifetimes.invocation),
    });
    await cache.get('did:a');
    expect(await cache.get('did:a')).toEqual(expected);
  });

  it('understands expiries in milliseconds', async () => {
    const createDelegation = vi.fn<Sign>(async () => ({ serialized: 'd', expiresAt: Date.now() + 3_600_000 }));
    const cache = createCredentialCache({ userDid: 'did:u', createDelegation });
    await cache.get('did:a');
    await cache.get('did:a');
    expect(createDelegation).toHaveBeenCalledTimes(1);
  });

  it('forgets what was refused, but not what has replaced it', async () => {
    const cache = createCredentialCache({
      userDid: 'did:u',
      createDelegation: countingSign('d', 86_400),
      createInvocation: countingSign('i', 300),
    });
    const first = await cache.get('did:a');
    cache.refuse('did:a', first);
    expect(await cache.get('did:a')).toEqual({ delegation: 'd-1', invocation: 'i-2' });
    cache.refuse('did:a', first);
    expect(await cache.get('did:a')).toEqual({ delegation: 'd-1', invocation: 'i-2' });
  });

  it('asks again after a wallet has refused', async () => {
    const createDelegation = vi
      .fn<Sign>()
      .mockRejectedValueOnce(new Error('no'))
      .mockImplementation(countingSign('d', 86_400));
    const cache = createCredentialCache({ userDid: 'did:u', createDelegation });
    await expect(cache.get('did:a')).rejects.toThrow('no');
    expect(await cache.get('did:a')).toEqual({ delegation: 'd-1' });
  });

  it('outlives a reload only where a storage is given, and never for another user', async () => {
    const storage = memoryStorage();
    const open = (userDid: string) =>
      createCredentialCache({ userDid, createDelegation: countingSign(userDid, 86_400), storage });
    expect(await open('did:u').get('did:a')).toEqual({ delegation: 'did:u-1' });
    const again = vi.fn<Sign>();
    const reloaded = createCredentialCache({ userDid: 'did:u', createDelegation: again, storage });
    expect(await reloaded.get('did:a')).toEqual({ delegation: 'did:u-1' });
    expect(again).not.toHaveBeenCalled();
    expect(await open('did:v').get('did:a')).toEqual({ delegation: 'did:v-1' });
    reloaded.refuse('did:a', { delegation: 'did:u-1' });
    expect([...storage.values.keys()].filter((key) => key.includes('did:u'))).toEqual([]);
    storage.setItem('palaver delegation did:w did:a', 'not json');
    expect(await open('did:w').get('did:a')).toEqual({ delegation: 'did:w-1' });
  });
});
