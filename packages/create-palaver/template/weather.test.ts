import { createTestRuntime } from '@palaver/agent';
import { expect, it } from 'vitest';
import { forecast } from './weather.ts';

it('looks at the sky before it answers', async () => {
  const runtime = await createTestRuntime({
    tools: { forecast },
    model: [{ toolCalls: [{ name: 'forecast', args: { place: 'Kisumu' } }] }, { text: 'Take an umbrella.' }],
  });
  const { message } = await runtime.send('do I need an umbrella in Kisumu?');
  expect(message.toolCalls).toMatchObject([{ name: 'forecast', output: { sky: 'rain in the afternoon' } }]);
  expect(message.content).toBe('Take an umbrella.');
  await runtime.close();
});
