// A program files claims on the protocol: dialled over HTTP, submitted to the development node; the query gateway takes no writes.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDevnode } from '@palaver/devnode';
import { startGateway } from '@palaver/gateway';
import { createGatewayClient } from '@palaver/protocol';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const files = {
  'program.yaml': `
name: farm
codes: ["*384*7#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: trees, to: trees }, { text: well, to: well }, { text: lost, to: lost }, { text: note, to: note }] }
  trees: { kind: prompt, text: trees, type: integer, min: 1, max: 500, save: trees, to: plant }
  plant: { kind: action, claim: planting, fields: { trees: trees, day: today }, save: claim, outcomes: { filed: filed, refused: refused, unavailable: later } }
  well: { kind: action, claim: well, collection: 2, fields: { depth: '12.5' }, save: claim, outcomes: { filed: filed, refused: refused, unavailable: later } }
  lost: { kind: action, claim: lost, collection: none, fields: {}, save: claim, outcomes: { filed: filed, refused: refused, unavailable: later } }
  note: { kind: prompt, text: note, type: text, save: note, to: tell }
  tell: { kind: action, claim: tell, fields: { notes: '[note]' }, save: claim, outcomes: { filed: filed, refused: refused, unavailable: later } }
  filed: { kind: page, text: filed }
  refused: { kind: page, text: refused }
  later: { kind: page, text: later }
`,
  'locales/en.yaml': `home: Farm\ntrees: Trees\nwell: Well\nlost: Lost\nnote: Note\nrefused: Refused.\nfiled: 'Filed: {claim}'\nlater: Not now.\n`,
};

interface Listed {
  id: string;
  source: string;
  collection: string;
  content: Record<string, unknown>;
  fault: string | null;
}

test('a claim is on the chain once in its collection, however often the telecom gateway asks', async () => {
  await using dir = await createTempDir();
  await using program = await writeProgram(files);
  // All collections of the seed take claims.
  const seed = readFileSync(new URL('../../devnode/seed/collections.json', import.meta.url), 'utf8');
  writeFileSync(join(dir.path, 'collections.json'), seed.replaceAll('"PAUSED"', '"OPEN"'));
  const env = { LOG_LEVEL: 'silent', DATA_DIR: dir.path, PORT: '0' };
  const node = await startDevnode({ ...env, DEVNODE_SEED: dir.path, DEVNODE_BLOCK_MS: '100' });
  const gateway = await startGateway({ ...env, GATEWAY_UPSTREAMS: node.address });
  const chain = createGatewayClient({ url: gateway.url });
  {
    const chainEnv = { GATEWAY_URL: gateway.url, SIGNING_NODE: node.address };
    const claiming = { ...chainEnv, CLAIMS_COLLECTION: '1', CLAIMS_INTERVAL_SECONDS: '0' };
    await using service = await startService('sqlite', { USSD_PROGRAMS: program.path, ...claiming });
    await using other = await service.startAnother();
    const say = (id: string, text: string, fields: object = {}, at = service) =>
      at.say(id, text, { serviceCode: '*384*7#', ...fields });
    const list = async (status: string) => {
      const response = await service.get(`/api/ussd/claims?status=${status}`);
      return ((await response.json()) as { claims: Listed[] }).claims;
    };
    // The one whose collection does not exist comes first and holds up no other.
    expect(await say('lost', '3')).toMatch(/^CON Filed: \w{16}\n/);
    const first = await say('a', '1*12');
    expect(first).toMatch(/^CON Filed: \w{16}\n/);
    for (const at of [service, other]) expect(await say('a', '1*12', {}, at)).toBe(first);
    expect(await say('b', '2')).toMatch(/^CON Filed: \w{16}\n/);
    expect(await list('queued')).toHaveLength(3);
    await waitFor('two claims on the chain', async () => {
      await fetch(`${service.url}/api/ussd/claims/process`, { method: 'POST' });
      return (await list('submitted')).length === 2;
    });
    const reference = /Filed: (\w+)/.exec(first)?.[1];
    const [planting, well] = (await list('submitted')).sort((one, two) => (one.source < two.source ? -1 : 1));
    const filedAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    expect(planting).toMatchObject({
      source: `farm:planting:${reference}`,
      collection: '1',
      content: { trees: 12, day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), filedAt },
    });
    expect(well).toMatchObject({ collection: '2', content: { depth: 12.5, filedAt } });
    for (const claim of [planting, well])
      expect(await chain.get(`/ixo/claims/claim/${claim?.id}`)).toMatchObject({
        value: { claim: { claim_id: claim?.id, collection_id: claim?.collection } },
      });
    expect(await list('queued')).toMatchObject([{ fault: expect.stringMatching(/^collection none: /) }]);

    expect(await say('number', '4*me: 0700 000 001')).toMatch(/^CON Refused\./);
    for (let i = 3; i < 50; i += 1) expect(await say(`more${i}`, '3')).toMatch(/^CON Filed: /);
    expect(await say('51', '3')).toMatch(/^CON Refused\./);
    expect(await say('other', '3', { phoneNumber: '+254700000002' })).toMatch(/^CON Filed: /);
  }
  // Without a collection nothing is stored, and the program has a way on.
  await using alone = await startService('sqlite', { USSD_PROGRAMS: program.path });
  expect(await alone.say('a', '1*12', { serviceCode: '*384*7#' })).toMatch(/^CON Not now\./);
  await gateway.close();
  await node.close();
});

test('a claim holds no phone number and no field that every claim has', async () => {
  await using dir = await writeProgram({
    ...files,
    'program.yaml': files['program.yaml']
      .replace(
        'trees: trees, day: today',
        'member: caller.phone, whole: caller, part: \'caller["phone"]\', in: caller.language, source: trees',
      )
      .replace('type: integer, min: 1, max: 500', 'type: phone')
      .replace("depth: '12.5'", 'by: trees'),
  });
  const fault = await startService('sqlite', { USSD_PROGRAMS: dir.path }).then(String, String);
  expect(fault.match(/a claim holds no phone number/g)).toHaveLength(5);
  expect(fault).toContain('`source` is reserved: the service adds it to every claim');
});
