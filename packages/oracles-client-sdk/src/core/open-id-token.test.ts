import { expect, it } from 'vitest';
import { startHomeserver } from '../../test/start-protocol.ts';
import { getOpenIdToken } from './open-id-token.ts';

it('mints a token at the homeserver, once for all who ask until it is about to expire', async () => {
  await using homeserver = await startHomeserver();
  const matrix = { homeServer: `${homeserver.url}/`, accessToken: 'matrix-token' };
  const [first, second] = await Promise.all([getOpenIdToken(matrix), getOpenIdToken(matrix)]);
  expect(first).toEqual({
    access_token: 'open-id-2',
    token_type: 'Bearer',
    matrix_server_name: 'hs',
    expires_in: 3600,
  });
  expect(second).toBe(first);
  expect(await getOpenIdToken({ ...matrix })).toBe(first);
  expect(homeserver.asked).toEqual([
    'GET /_matrix/client/v3/account/whoami',
    'POST /_matrix/client/v3/user/%40ana%3Ahs/openid/request_token',
  ]);
});

it.each([
  [],
  [undefined],
  [null],
  [{}],
  [{ homeServer: 'hs.example', accessToken: '' }],
  [{ homeServer: '', accessToken: 'token' }],
  [{ userId: '@ana:hs.example' }],
])('without a Matrix session it fails with a sentence: %j', async (...session) => {
  const error = await getOpenIdToken(...(session as unknown as Parameters<typeof getOpenIdToken>)).catch((e) => e);
  expect(error).toMatchObject({ name: 'OracleError', code: 'VALIDATION_FAILED' });
  expect(error.message).toMatch(/^getOpenIdToken needs a Matrix session: .+\.$/);
});

it('says why it was refused, and asks again next time', async () => {
  await using homeserver = await startHomeserver();
  const matrix = { homeServer: homeserver.url, accessToken: 'wrong' };
  await expect(getOpenIdToken(matrix)).rejects.toMatchObject({ status: 401 });
  await expect(getOpenIdToken(matrix)).rejects.toMatchObject({ status: 401 });
  expect(homeserver.asked).toHaveLength(2);
});
