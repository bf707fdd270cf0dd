import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, with processes, timers and browsers. One that began last would run alone while a core is idle. */
const long = [
  'apps/console/test/console.test.ts',
  'test/story/money.test.ts',
  'test/clients/chat-pages.test.ts',
  'services/ussd/test/sessions.test.ts',
  'packages/oracles-client-sdk/test/browser.test.ts',
  'services/ussd/test/sms.test.ts',
  'services/ussd/test/forms.test.ts',
  'test/faults/faults.test.ts',
  'apps/cli/test/rolling-restart.test.ts',
  'packages/protocol/test/outbox.test.ts',
  'test/packages/packages.test.ts',
  'apps/cli/test/up.test.ts',
  'test/faults/previous-version.test.ts',
  'apps/console/test/program-pages.test.ts',
  'packages/agent/test/approvals-killed.test.ts',
  'services/ussd/test/publishing.test.ts',
  'packages/agent/test/process.test.ts',
  'services/gateway/test/heights.test.ts',
  'apps/cli/test/unsafe-start.test.ts',
  'packages/oracles-client-sdk/test/ui.test.ts',
  'services/ussd/test/walk-forms.test.ts',
  'packages/agent/test/instances.test.ts',
  'packages/agent/test/missing-delegations.test.ts',
  'packages/agent/test/pdf-bomb.test.ts',
  'services/ussd/src/session/sweeper.test.ts',
  'scripts/code-blocks.test.ts',
  'services/ussd/test/clocks.test.ts',
  'packages/agent/test/nothing-lost.test.ts',
  'services/ussd/test/faults.test.ts',
  'packages/agent/src/plugins/bundled/credits/credits.test.ts',
  'services/ussd/test/openrosa.test.ts',
  'packages/oracles-client-sdk/test/package.test.ts',
  'packages/agent/test/limits.test.ts',
  'packages/agent/test/retention.test.ts',
  'services/ussd/test/retention.test.ts',
  'apps/cli/test/agent.test.ts',
  'packages/agent/test/logs.test.ts',
  'apps/cli/test/tutorial.test.ts',
  'packages/protocol/test/pays-once.test.ts',
  'apps/cli/test/foreign-page.test.ts',
  'apps/cli/test/keys.test.ts',
];

/** Long files first; the others as Vitest sorts them, by their last duration or their size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = long.findIndex((path) => moduleId.endsWith(path));
      return at === -1 ? long.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
