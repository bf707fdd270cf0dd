// The conformance suite of MCP, from the npm registry on first use.
import { defineOraclePlugin } from '@palaver/agent';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { startLiveAgent } from './live-agent.ts';
import { run } from './programs.ts';

const suite = '@modelcontextprotocol/conformance@0.1.16';

/** What fails, and why that is no fault of the agent: `docs/standards.md` has the same list. */
const notOurs = [
  ...['logging-set-level', 'tools-call-with-logging', 'completion-complete'], // Optional; not declared.
  ...['resources-list', 'resources-read-text', 'resources-read-binary', 'resources-templates-read'],
  ...['resources-subscribe', 'resources-unsubscribe'],
  ...['prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource'],
  'prompts-get-with-image',
  ...['tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource', 'tools-call-mixed-content'], // Results are texts.
  'tools-call-with-progress', // Only `ask` reports progress; the tools of plugins have none to report.
  ...['tools-call-sampling', 'tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
  'json-schema-2020-12', // Wants a tool with a given schema; the schemas of plugins are made from zod.
].sort();

const plugin = defineOraclePlugin({
  name: 'conformance',
  version: '1.0.0',
  manifest: {
    title: 'Conformance',
    summary: 'What the suite calls.',
    whenToUse: [],
    visibility: 'silent',
    stability: 'stable',
  },
  getTools: () => ({
    test_simple_text: {
      description: 'Answers with a text.',
      inputSchema: z.object({}),
      public: true,
      execute: () => 'This is a simple text response for testing.',
    },
    test_error_handling: {
      description: 'Fails.',
      inputSchema: z.object({}),
      public: true,
      execute: () => {
        throw new Error('This tool intentionally returns an error for testing');
      },
    },
  }),
});

test('the conformance suite of MCP', async () => {
  await using agent = await startLiveAgent({ plugins: [plugin] });
  const { output } = await run('npx', ['--yes', suite, 'server', '--url', `${agent.url}/mcp`, '--suite', 'all']);
  const summary = output.slice(output.indexOf('=== SUMMARY ==='));
  console.log(summary);
  const scenarios = [...summary.matchAll(/^([✓✗]) (\S+):/gm)].map(([, mark, name = '']) => ({ mark, name }));
  expect(scenarios.length).toBeGreaterThan(30);
  expect(
    scenarios
      .filter(({ mark }) => mark === '✗')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(notOurs);
});
