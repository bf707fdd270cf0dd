import { expect, test } from 'vitest';
import { startService } from '../../test/service-fixture.ts';
import { toSampleAdapters, toSampleExchange } from './adapter.ts';
import { loadAdapters } from './load-adapters.ts';

const adapters = [...toSampleAdapters(await loadAdapters([], {})).values()];

test.each(adapters)('$name: the service answers a sample request as the sample says', async (adapter) => {
  await using service = await startService();
  // A number that has not called before is offered languages.
  await service.say('first', '');
  for (const inputs of [[], ['1'], ['1', '2']]) {
    const call = { sessionId: 'sample', phoneNumber: '+254700000001', serviceCode: '*1234#', inputs };
    const { path, request } = toSampleExchange(adapter, call, 'CON x');
    const isGet = adapter.methods[0] === 'GET';
    const response = await fetch(`${service.url}${path}`, {
      method: adapter.methods[0] ?? 'POST',
      ...(!isGet && { headers: { 'content-type': request.contentType }, body: request.body }),
    });
    const plain = await service.say(`plain${inputs.length}`, inputs.join('*'));
    const { reply } = toSampleExchange(adapter, call, plain);
    expect([response.headers.get('content-type'), await response.text()]).toEqual([reply.contentType, reply.body]);
  }
});
