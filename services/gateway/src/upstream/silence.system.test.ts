import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { frame, respond, startScriptedNode } from '../../test/scripted-node.ts';
import { createUpstream } from './upstream.ts';

test('a node that is silent after the last ping it allows is asked on a second session, and may answer on the first', async () => {
  let answerFirst: (() => void) | undefined;
  await using node = await startScriptedNode((stream) => {
    if (answerFirst) respond(stream, frame(Buffer.from('second')));
    else answerFirst = () => respond(stream, frame(Buffer.from('first')));
  });
  const upstream = createUpstream({ addresses: [node.address] });
  const query = { path: '/x.Query/Get', body: new Uint8Array(), metadata: {}, timeoutMs: 90_000 };
  const first = upstream.call(query);
  await waitFor('a second session', () => node.sessions.size === 2, 80_000);
  expect(await upstream.call(query)).toMatchObject({ ok: true, message: Buffer.from('second') });
  answerFirst?.();
  expect(await first).toMatchObject({ ok: true, message: Buffer.from('first') });
  await waitFor('the end of the first session', () => node.sessions.size === 1);
  upstream.close();
}, 120_000);
