// The compatibility kit of A2A (branch 1.0-dev of github.com/a2aproject/a2a-tck), which is in no package registry:
// `A2A_TCK` is the folder of a checkout. Its Python packages are installed by pip on first use.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { installPython, run } from './programs.ts';
import { startTckAgent } from './tck-agent.ts';

/** What fails, and why that is no fault of the agent: `docs/standards.md` has the same list. */
const notOurs = [
  'test_last_modified_present', // Optional; the card has an ETag.
  'test_task_has_text_artifact[jsonrpc]', // Wants given words as an answer, which are the model's.
  'test_task_has_file_artifact[jsonrpc]', // Answers are texts.
  'test_task_has_file_url_artifact[jsonrpc]',
  'test_task_has_data_artifact[jsonrpc]',
  'test_returns_message_with_text_part[jsonrpc]', // A message without a task is optional; here all answers are tasks.
].sort();

test('the compatibility kit of A2A', async () => {
  const checkout = process.env.A2A_TCK;
  if (!checkout)
    throw new Error('Set A2A_TCK to a checkout of branch 1.0-dev of https://github.com/a2aproject/a2a-tck.');
  const folder = installPython('a2a-tck', [checkout]);
  await using dir = await createTempDir();
  await using agent = await startTckAgent(join(dir.path, 'paid'));
  const report = join(dir.path, 'report.xml');
  const args = ['tests/compatibility/', `--sut-host=${agent.url}`, '-q', '-rs', '--tb=line', `--junitxml=${report}`];
  const { output } = await run(join(folder, 'bin/python'), ['-m', 'pytest', ...args], { cwd: checkout });
  console.log(output.slice(-6_000));
  const cases = readFileSync(report, 'utf8').split('<testcase ').slice(1);
  const failed = cases
    .filter((one) => /<(failure|error)\b/.test(one))
    .map((one) => /\bname="([^"]*)"/.exec(one)?.[1] ?? one);
  expect(cases.length).toBeGreaterThan(200);
  expect(failed.sort()).toEqual(notOurs);
});
