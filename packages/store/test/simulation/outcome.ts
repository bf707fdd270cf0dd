/** What a simulation of one seed gives. */
export interface Outcome {
  seed: number;
  violation: string | undefined;
  /** What happened, in order. */
  log(): string[];
  steps: number;
  /** How often each fault met each step of the database, each disaster happened and whatever else is counted. */
  coverage: Map<string, number>;
}

/** An invariant that does not hold. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Collects the first violation. */
export function createGuard() {
  let violation: string | undefined;
  return {
    violation: () => violation,
    fail(message: string): void {
      violation ??= message;
    },
    run(check: () => void): void {
      try {
        check();
      } catch (error) {
        violation ??= error instanceof Violation ? error.message : String((error as Error).stack);
      }
    },
  };
}
