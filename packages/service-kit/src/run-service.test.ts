import { expect, it } from 'vitest';
import { CloseStack, keepOpen } from './run-service.ts';

/** A stack of three parts that note when they close. */
function openThree(stack: CloseStack, faults: Record<string, Error> = {}): string[] {
  const closed: string[] = [];
  for (const name of ['store', 'cluster', 'server']) {
    stack.defer(async () => {
      await Promise.resolve();
      closed.push(name);
      if (faults[name]) throw faults[name];
    });
  }
  return closed;
}

it('closes the last opened first when a later line of the start throws', async () => {
  let closed: string[] = [];
  const start = async () => {
    await using stack = new CloseStack();
    closed = openThree(stack);
    throw new Error('the port is taken');
  };
  await expect(start()).rejects.toThrow('the port is taken');
  expect(closed).toEqual(['server', 'cluster', 'store']);
});

it('keeps everything open after a start that went well, and closes it once', async () => {
  const start = async () => {
    await using stack = new CloseStack();
    const closed = openThree(stack);
    return { closed, close: keepOpen(stack) };
  };
  const { closed, close } = await start();
  expect(closed).toEqual([]);
  await Promise.all([close(), close()]);
  expect(closed).toEqual(['server', 'cluster', 'store']);
});

it('closes the others when one fails, and reports every fault', async () => {
  const one = new CloseStack();
  const closed = openThree(one, { cluster: new Error('lost') });
  await expect(one[Symbol.asyncDispose]()).rejects.toThrow(/^lost$/);
  expect(closed).toEqual(['server', 'cluster', 'store']);

  const two = new CloseStack();
  const [server, store] = [new Error('busy'), new Error('full')];
  openThree(two, { server, store });
  await expect(two[Symbol.asyncDispose]()).rejects.toMatchObject({ errors: [server, store] });
});

it('gives back the part that it adopts', async () => {
  const stack = new CloseStack();
  const part = { open: true };
  expect(stack.adopt(part, (it) => (it.open = false))).toBe(part);
  await stack[Symbol.asyncDispose]();
  expect(part.open).toBe(false);
});
