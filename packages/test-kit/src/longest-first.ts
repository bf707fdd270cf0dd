import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, with processes, timers and browsers. One that began last would run alone while a core is idle. */
const long = [
  'apps/console/test/console.system.test.ts',
  'test/story/money.system.test.ts',
  'test/clients/chat-pages.system.test.ts',
  'services/ussd/test/sessions.test.ts',
  'packages/oracles-client-sdk/test/browser.system.test.ts',
  'services/ussd/test/sms.test.ts',
  'services/ussd/test/forms.test.ts',
  'test/faults/faults.test.ts',
  'apps/cli/test/rolling-restart.system.test.ts',
  'packages/protocol/test/outbox.test.ts',
  'test/packages/packages.system.test.ts',
  'apps/cli/test/up.test.ts',
  'test/faults/previous-version.system.test.ts',
  'apps/console/test/program-pages.system.test.ts',
  'packages/agent/test/approvals-killed.system.test.ts',
  'services/ussd/test/publishing.test.ts',
  'packages/agent/test/process.system.test.ts',
  'services/gateway/test/heights.test.ts',
  'apps/cli/test/unsafe-start.system.test.ts',
  'packages/oracles-client-sdk/test/ui.test.ts',
  'services/ussd/test/walk-forms.system.test.ts',
  'packages/agent/test/instances.system.test.ts',
  'packages/agent/test/missing-delegations.system.test.ts',
  'packages/agent/test/pdf-bomb.system.test.ts',
  'services/ussd/src/calls/sweeper.test.ts',
  'scripts/code-blocks.system.test.ts',
  'services/ussd/test/clocks.system.test.ts',
  'packages/agent/test/nothing-lost.test.ts',
  'services/ussd/test/faults.system.test.ts',
  'packages/agent-plugins/src/credits/credits.test.ts',
  'services/ussd/test/openrosa.test.ts',
  'packages/oracles-client-sdk/test/package.system.test.ts',
  'packages/agent/test/limits.test.ts',
  'packages/agent/test/retention.test.ts',
  'services/ussd/test/retention.test.ts',
  'apps/cli/test/agent.system.test.ts',
  'packages/agent/test/logs.test.ts',
  'apps/cli/test/tutorial.system.test.ts',
  'packages/protocol/test/pays-once.test.ts',
  'apps/cli/test/foreign-page.system.test.ts',
  'apps/cli/test/keys.system.test.ts',
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
