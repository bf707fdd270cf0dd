import { beforeAll, expect, it } from 'vitest';
import { createSigners, parse, signBlock, toArchive } from '../test/tokens.ts';
import { isGrantedBy } from './check-chain.ts';
import type { Signer } from './signer.ts';

let user: Signer;
beforeAll(async () => {
  [user] = (await createSigners(1)) as [Signer];
});

it('follows each capability of a chain once, by however many ways it is reached', async () => {
  const same = Array.from({ length: 16 }, () => ({ can: 'oracle/chat', with: 'ixo:oracle' })) as never;
  const blocks = [await signBlock(user, { audience: user.did(), att: same })];
  while (blocks.length < 8)
    blocks.push(await signBlock(user, { audience: user.did(), att: same, prf: [blocks.at(-1)?.cid] as never }));
  const view = await parse(await toArchive(blocks));
  const [capability] = view.capabilities;
  // 16 to the power of 7 ways lead to the end.
  expect(isGrantedBy(view, capability as never, new Set(['did:key:zNobody']))).toBe(false);
  expect(isGrantedBy(view, capability as never, new Set([user.did()]))).toBe(true);
});
