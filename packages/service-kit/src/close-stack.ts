/**
 * What a start has opened, to be closed in reverse order. The same as `AsyncDisposableStack`, which Node 22 does not have.
 *
 * @example
 * ```ts
 * import { CloseStack, keepOpen } from '@palaver/service-kit';
 * import { openStore } from '@palaver/store';
 *
 * export async function start(url: string) {
 *   await using started = new CloseStack(); // closes everything if a later line throws
 *   const store = await openStore(url);
 *   started.defer(() => store.close());
 *   return { store, close: keepOpen(started) };
 * }
 * ```
 */
export class CloseStack implements AsyncDisposable {
  #closers: (() => unknown)[] = [];

  /** Adds what closes the part that was opened last. */
  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Adds a part and what closes it. */
  adopt<Part>(part: Part, close: (part: Part) => unknown): Part {
    this.defer(() => close(part));
    return part;
  }

  /** A stack with everything in this one, which is empty afterwards. */
  move(): CloseStack {
    const moved = new CloseStack();
    moved.#closers = this.#closers;
    this.#closers = [];
    return moved;
  }

  /** Closes everything, the last opened first. A part that fails to close does not keep the others open. */
  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, 'several parts did not close');
  }
}

/**
 * The end of a start that went well: what the stack holds stays open, and the returned function closes it, once.
 *
 * @example
 * ```ts
 * import { CloseStack, keepOpen } from '@palaver/service-kit';
 *
 * export async function start() {
 *   await using started = new CloseStack();
 *   const timer = started.adopt(setInterval(() => {}, 1_000), clearInterval);
 *   return { timer, close: keepOpen(started) };
 * }
 * ```
 */
export function keepOpen(started: CloseStack): () => Promise<void> {
  const open = started.move();
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= open[Symbol.asyncDispose]();
    return closing;
  };
}
