import type { TestModule } from 'vitest/node';

export interface Summary {
  passed: number;
  failed: number;
  skipped: number;
  /** Why tests were skipped, each reason once with how many tests it took. */
  reasons: Map<string, number>;
}

/** Counts a finished run. A file that could not be loaded and a stray error each count as a failure. */
export function summarise(modules: Iterable<TestModule>, strayErrors: number): Summary {
  const summary: Summary = { passed: 0, failed: strayErrors, skipped: 0, reasons: new Map() };
  for (const module of modules) {
    summary.failed += module.errors().length;
    for (const suite of module.children.allSuites()) summary.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const result = test.result();
      if (result.state === 'passed') summary.passed += 1;
      else if (result.state === 'failed') summary.failed += 1;
      else {
        const reason = (result.state === 'skipped' && result.note) || `no reason given: ${test.fullName}`;
        summary.skipped += 1;
        summary.reasons.set(reason, (summary.reasons.get(reason) ?? 0) + 1);
      }
    }
  }
  return summary;
}
