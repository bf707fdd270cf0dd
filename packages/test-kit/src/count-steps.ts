/** The longest text a regular expression may be tried on: there even one that backtracks takes no time. */
const maxMatched = 100;

type Method = (this: string, ...args: unknown[]) => unknown;

const readsAll = ['includes', 'split', 'replaceAll', 'trim', 'trimStart', 'trimEnd', 'lastIndexOf'];
const matchers = [Symbol.replace, Symbol.split, Symbol.search, Symbol.match, Symbol.matchAll] as const;

/**
 * How many characters a synchronous function looks at, as far as it does so through methods of strings; the same on every
 * machine. Throws when it gives a long text to a regular expression, whose steps cannot be counted; only a scan from match
 * to match (`g` and `lastIndex`) is taken, by the characters that it passes.
 */
export function countSteps(work: () => void): number {
  let steps = 0;
  const undo: (() => void)[] = [];
  const patch = (owner: object, name: PropertyKey, wrap: (original: Method) => Method) => {
    const original = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor;
    Object.defineProperty(owner, name, { ...original, value: wrap(original.value) });
    undo.push(() => Object.defineProperty(owner, name, original));
  };
  for (const name of readsAll)
    patch(
      String.prototype,
      name,
      (original) =>
        function (...args) {
          steps += this.length;
          return original.apply(this, args);
        },
    );
  patch(
    String.prototype,
    'slice',
    (original) =>
      function (...args) {
        const piece = original.apply(this, args) as string;
        steps += piece.length;
        return piece;
      },
  );
  patch(
    String.prototype,
    'indexOf',
    (original) =>
      function (...args) {
        const at = original.apply(this, args) as number;
        const from = typeof args[1] === 'number' ? args[1] : 0;
        steps += 1 + (at < 0 ? Math.max(this.length - from, 0) : at - from);
        return at;
      },
  );
  const refuse = (text: string, pattern: RegExp) => {
    throw new Error(`${pattern} is tried on ${text.length} characters`);
  };
  for (const name of matchers)
    patch(
      RegExp.prototype,
      name,
      (original) =>
        function (this: unknown, ...args) {
          const text = String(args[0]);
          if (text.length > maxMatched) refuse(text, this as RegExp);
          steps += text.length;
          return original.apply(this as string, args);
        },
    );
  patch(
    RegExp.prototype,
    'exec',
    (original) =>
      function (this: unknown, ...args) {
        const pattern = this as RegExp;
        const [text, from] = [String(args[0]), pattern.lastIndex];
        if (text.length > maxMatched && !pattern.global) refuse(text, pattern);
        const match = original.apply(this as string, args) as RegExpExecArray | null;
        steps += pattern.global ? 1 + (match?.index ?? text.length) - from : text.length;
        return match;
      },
  );
  try {
    work();
  } finally {
    for (const restore of undo.reverse()) restore();
  }
  return steps;
}
