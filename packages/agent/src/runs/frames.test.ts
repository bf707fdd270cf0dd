import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameLog, keepFrames, parseFrame, readEvents, splitFrames } from './frames.ts';
import { createRun } from './run.ts';

const timestamp = '2026-01-01T00:00:00.000Z';

test('frames are numbered from 1, or after those that are known, and hold one line of data', () => {
  for (const skipped of [0, 7]) {
    const log = createFrameLog(skipped);
    log.append('message', { content: 'a\nb\r\n\u2028c', timestamp });
    log.append('message', { content: 'd', timestamp });
    const { text, last } = log.read(skipped, 10_000);
    expect(last).toBe(skipped + 2);
    const blocks = text.split('\n\n').slice(0, -1);
    expect(blocks.map((block) => block.split('\n').map((line) => line.split(': ')[0]))).toEqual([
      ['event', 'id', 'data'],
      ['event', 'id', 'data'],
    ]);
    expect(blocks.map((block) => block.split('\n')[1])).toEqual([`id: ${skipped + 1}`, `id: ${skipped + 2}`]);
  }
});

test('however it is read, nothing is lost, doubled or cut', () => {
  const contents = fc.array(fc.string({ maxLength: 50 }), { maxLength: 30 });
  fc.assert(
    fc.property(contents, fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }), (texts, sizes) => {
      const log = createFrameLog();
      for (const content of texts) log.append('message', { content, timestamp });
      log.end();
      let [after, all, step] = [0, '', 0];
      for (;;) {
        const { text, last } = log.read(after, sizes[step % sizes.length] ?? 1);
        if (text === '') break;
        expect(text.endsWith('\n\n')).toBe(true);
        expect(last).toBeGreaterThan(after);
        all += text;
        after = last;
        step += 1;
      }
      expect(after).toBe(texts.length);
      expect(all).toBe(log.read(0, Number.POSITIVE_INFINITY).text);
    }),
  );
});

test('a watcher is called for every frame and for the end, until it stops', () => {
  const log = createFrameLog();
  const calls: number[] = [];
  const unwatch = log.watch(() => calls.push(log.length));
  const once = log.watch(() => once());
  log.append('message', { content: 'a', timestamp });
  log.append('message', { content: 'b', timestamp });
  log.end();
  expect(calls).toEqual([1, 2, 2]);
  unwatch();
  log.end();
  expect(calls).toHaveLength(3);
});

test('a log that was dropped takes nothing, and its readers find that it has ended', () => {
  const log = createFrameLog();
  log.append('message', { content: 'hello', timestamp });
  expect(log.size).toBe(log.read(0, 1000).text.length);
  log.end();
  let calls = 0;
  log.watch(() => {
    calls += 1;
  });
  log.drop();
  expect({ calls, size: log.size, ended: log.ended, ...log.read(0, 1000) }).toEqual({
    calls: 1,
    size: 0,
    ended: true,
    text: '',
    last: 0,
  });
});

test('nothing comes after the end', () => {
  const log = createFrameLog();
  log.end();
  log.append('message', { content: 'late', timestamp });
  expect(log.length).toBe(0);
});

// Seed 1001 of the simulation.
test('a reader with frames that their owner had no time to store gets the end of the run, once', async () => {
  const frames = createFrameLog();
  frames.append('message', { content: 'so', timestamp });
  frames.append('done', { runId: 'r', messageId: 'm', status: 'failed' });
  frames.end();
  for (const after of [0, 1, 2, 3]) {
    const ends: number[] = [];
    for await (const { name, id } of readEvents(frames, after)) if (name === 'done') ends.push(id);
    expect(ends).toEqual([Math.max(2, after + 1)]);
  }
});

test('a reader of a run that continues elsewhere gets no frame twice', async () => {
  const frames = createFrameLog();
  for (const content of ['a', 'b']) frames.append('message', { content, timestamp });
  frames.end();
  for (const after of [0, 1, 2, 3]) {
    const ids: number[] = [];
    for await (const { id } of readEvents(frames, after)) ids.push(id);
    expect(ids).toEqual([1, 2].filter((id) => id > after));
  }
});

// Seed 4566 of the simulation.
test('a run that failed for its reader and is stored as aborted has that end in its frames', async () => {
  const ids = { runId: 'r', sessionId: 's', userDid: 'did:key:z', requestId: 'q', messageId: 'm' };
  const run = createRun(ids, { onEvent() {} });
  run.emit('message', { content: 'so', timestamp });
  const unused = {} as never;
  const keeper = keepFrames(
    run,
    { runId: 'r', epoch: 1 },
    { runs: unused, broadcast: unused, logger: unused, stored: 0, onNewOwner() {} },
  );
  const endsOf = () =>
    (['failed', 'aborted'] as const).map((status) => {
      const { last, body } = keeper.toLastFrames(status);
      const frames = splitFrames(body);
      const { name, data } = parseFrame(frames.at(-1) ?? '');
      return [name, 'status' in data && data.status, last, frames.length];
    });
  const ends = [
    ['done', 'failed', 2, 2],
    ['done', 'aborted', 2, 2],
  ];
  expect(endsOf()).toEqual(ends);
  run.finish(run.draft('failed'), undefined);
  expect(endsOf()).toEqual(ends);
  await keeper.stop();
});
