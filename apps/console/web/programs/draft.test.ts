import { strToU8, zipSync } from 'fflate';
import { expect, test } from 'vitest';
import { fromZip } from './draft.tsx';

const zip = (files: Record<string, Uint8Array>) => new Uint8Array(zipSync(files));

test('the files of a folder are read, whatever it is called', async () => {
  const files = {
    'market/': new Uint8Array(),
    'market/program.yaml': strToU8('name: market'),
    'other.txt': strToU8('x'),
  };
  expect(await fromZip(zip(files))).toEqual({ 'program.yaml': 'name: market' });
});

test('a small file that unpacks to a large one is refused, also where its header lies about the size', async () => {
  const large = zip({ 'program.yaml': new Uint8Array(20_000_000) });
  expect(large.length).toBeLessThan(100_000);
  await expect(fromZip(large)).rejects.toThrow('too large');
  const lying = new Uint8Array(large);
  const directory = Buffer.from(lying).lastIndexOf(Buffer.from('PK\x01\x02', 'latin1'));
  new DataView(lying.buffer).setUint32(directory + 24, 100, true);
  const read = await fromZip(lying).catch(() => ({ 'program.yaml': '' }));
  expect(read['program.yaml']?.length ?? 0).toBeLessThan(1_000);
});
