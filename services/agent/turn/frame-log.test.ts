import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameLog } from './frame-log.ts';

const timestamp = '2026-01-01T00:00:00.000Z';
const forever = new AbortController().signal;

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

test('a reader waits for more, for the end, or until it leaves', async () => {
  const log = createFrameLog();
  const more = log.more(0, forever);
  log.append('message', { content: 'a', timestamp });
  await more;
  await log.more(0, forever);
  const leave = new AbortController();
  const left = log.more(1, leave.signal);
  leave.abort();
  await left;
  await log.more(1, AbortSignal.abort());
  const end = log.more(1, forever);
  log.end();
  await end;
  await log.more(99, forever);
});

test('nothing comes after the end', () => {
  const log = createFrameLog();
  log.end();
  log.append('message', { content: 'late', timestamp });
  expect(log.length).toBe(0);
});
