import { once } from 'node:events';
import { type AddressInfo, createServer, type LookupFunction } from 'node:net';
import { expect, it } from 'vitest';
import { openPublic } from './open-public.ts';

it('a name whose addresses all refuse fails with a cause', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const lookup: LookupFunction = (_name, _options, callback) =>
    callback(
      null,
      ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
    );
  const asked = openPublic(new URL(`http://inner.example:${port}`), {
    ...{ signal: AbortSignal.timeout(10_000), isAllowed: true, lookup },
  });
  await expect(asked).rejects.toThrow('ECONNREFUSED');
});
