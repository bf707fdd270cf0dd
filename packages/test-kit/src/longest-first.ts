import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, with processes, timers and browsers. One that began last would run alone while a core is idle. */
const long = [
  'test/story/money.test.ts',
  'apps/console/test/console.test.ts',
  'test/clients/chat-pages.test.ts',
  'services/ussd/test/sms.test.ts',
  'packages/protocol/test/outbox.test.ts',
  'test/faults/faults.test.ts',
  'packages/oracles-client-sdk/test/browser.test.ts',
  'services/ussd/test/sessions.test.ts',
  'packages/agent/test/approvals-killed.test.ts',
  'services/ussd/test/walk-forms.test.ts',
  'services/ussd/test/forms.test.ts',
  'packages/agent/src/plugins/bundled/credits/credits.test.ts',
  'test/packages/packages.test.ts',
  'apps/cli/test/up.test.ts',
  'apps/cli/test/rolling-restart.test.ts',
  'packages/oracles-client-sdk/test/package.test.ts',
  'packages/agent/src/plugins/bundled/mcp/mcp-faults.test.ts',
  'packages/agent/test/process.test.ts',
  'packages/agent/src/cluster/cluster.test.ts',
  'packages/agent/test/nothing-lost.test.ts',
  'packages/agent/test/instances.test.ts',
  'services/ussd/test/publishing.test.ts',
  'services/ussd/test/openrosa.test.ts',
  'services/ussd/test/clocks.test.ts',
  'apps/cli/test/keys.test.ts',
  'apps/cli/test/agent.test.ts',
  'apps/cli/test/tutorial.test.ts',
  'services/gateway/test/heights.test.ts',
  'packages/agent/test/retention.test.ts',
  'apps/console/test/guarded.test.ts',
  'services/ussd/test/faults.test.ts',
  'packages/agent/test/logs.test.ts',
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
